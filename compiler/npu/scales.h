// Scales as registers have them: a multiplier of 31 bits and a shift to the right.
#pragma once

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "kernels/elementwise/affine.h"
#include "npu/operation.h"

namespace runnel::compiler::ethos_u {

// What an integer of a tensor with one scale, of either kind, stands for.
double real_scale(const Tensor& tensor);
// `headroom`: bits by which the value was moved to the left before. Errors: unsupported for a shift that has
// no register.
Result<npu::Scale> scale_of(const kernels::Multiplier& multiplier, int headroom = 0);
// 2^-shift, rounded half up; nothing is rounded where the shift goes to the left. Errors: unsupported.
Result<npu::Scale> scale_of(int shift, kernels::Rounding rounding);

}  // namespace runnel::compiler::ethos_u
