#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {

const Elementwise& elementwise_generic() noexcept { return kLoops; }

// All levels have the same loops: without elements they only say whether there is one.
KernelChoice kernel_choice(const BinarySpec& wanted, Isa isa) noexcept {
  BinarySpec spec = wanted;
  spec.count = spec.a_count = spec.b_count = 0;
  const bool loop = isa != Isa::reference &&
                    (spec.dtype == DType::int16 ? binary_typed<std::int16_t>(spec, nullptr, nullptr, nullptr)
                                                : binary_typed<std::int8_t>(spec, nullptr, nullptr, nullptr));
  return {loop ? vector_level(isa) : Isa::reference, ""};
}

}  // namespace runnel::kernels
