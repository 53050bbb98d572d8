#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {

const Elementwise& elementwise_generic() noexcept { return kLoops; }

KernelChoice kernel_choice(const BinarySpec& spec, Isa isa) noexcept { return loops_choice(spec, isa); }

}  // namespace runnel::kernels
