// Operations of the Ethos-U85, from its registers.
#pragma once

#include "npu/operation.h"

namespace runnel::npu::u85 {

// Fills in an operation whose kind and param are known. Errors: invalid_data naming a register that was never
// set, or a meaningless value.
Status build(const Registers& registers, const Accelerator& accelerator, Operation& op) noexcept;

}  // namespace runnel::npu::u85
