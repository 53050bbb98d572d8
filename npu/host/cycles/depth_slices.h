// Depth slices: a convolution whose channels several operations of a stream compute, because its weights
// arrive in parts.
#pragma once

#include "npu/operation.h"

namespace runnel::npu {

// Whether `next` computes the channels that follow those of `op` in the same convolution.
bool continues(const Operation& op, const Operation& next) noexcept;

// Of weights and scales.
double stream_bytes(const Operation& op) noexcept;

}  // namespace runnel::npu
