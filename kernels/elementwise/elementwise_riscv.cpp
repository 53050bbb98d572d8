// Element-wise operations on RISC-V microcontrollers: the portable loops. They have no instructions for
// several bytes.
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {

const Elementwise& elementwise_generic() noexcept { return kLoops; }

KernelChoice kernel_choice(const BinarySpec& spec, Isa isa) noexcept { return loops_choice(spec, isa); }

bool add_bytes_device(const BinarySpec&, const void*, const void*, void*) noexcept { return false; }

}  // namespace runnel::kernels
