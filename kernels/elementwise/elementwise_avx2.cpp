#include "kernels/elementwise/affine_loops.h"
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {

const Elementwise& elementwise_avx2() noexcept { return kLoops; }
AffinePairs affine_pairs_avx2() noexcept { return affine_loops; }

}  // namespace runnel::kernels
