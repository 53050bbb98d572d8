#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {

const Elementwise& elementwise_avx2() noexcept { return kLoops; }

}  // namespace runnel::kernels
