// From operations in the terms of Ethos-U55 and U65, in which the lowering writes them, to those of the U85.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "npu/host/encoder/step.h"

namespace runnel::npu::u85 {

// Sets modes, scales, tables, operands and the format of accumulators. `second`: the bytes of the second
// operand if they are constant, which become a scalar if they are a single element. Errors: unsupported with
// the reason.
Status adapt(Step& step, std::span<const std::byte> second);

}  // namespace runnel::npu::u85
