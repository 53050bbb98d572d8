#include "kernels/elementwise/affine_loops.h"
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {

const Elementwise& elementwise_avx2() noexcept { return kLoops; }
AffinePairs affine_pairs_avx2() noexcept { return affine_loops; }
AffineConversions affine_conversions_avx2() noexcept { return {quantize_loops, dequantize_loops, Isa::avx2}; }

}  // namespace runnel::kernels
