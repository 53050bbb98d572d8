#include "kernels/elementwise/affine_loops.h"
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {

const Elementwise& elementwise_avx512() noexcept { return kLoops; }
AffinePairs affine_pairs_avx512() noexcept { return affine_loops; }
AffineConversions affine_conversions_avx512() noexcept {
  return {quantize_loops, dequantize_loops, Isa::avx512};
}

}  // namespace runnel::kernels
