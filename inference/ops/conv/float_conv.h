// Convolutions and fully connected layers in float32, for conv.cpp.
#pragma once

#include "inference/operator.h"
#include "kernels/conv/conv.h"

namespace runnel::ops {

// Binds the operator with the sizes of `spec`; weights and bias are its inputs 1 and 2. `x_bytes`, `y_bytes`:
// of one of `batch` entries.
Result<const BoundOperator*> prepare_float_conv_op(PrepareContext& context, const kernels::ConvSpec& spec,
                                                   Activation activation, std::int32_t batch,
                                                   std::size_t x_bytes, std::size_t y_bytes) noexcept;

}  // namespace runnel::ops
