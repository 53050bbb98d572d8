#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {

const Elementwise& elementwise_avx512() noexcept { return kLoops; }

}  // namespace runnel::kernels
