#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {

const Elementwise& elementwise_generic() noexcept { return kLoops; }

}  // namespace runnel::kernels
