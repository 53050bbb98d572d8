#include "inference/ops/compiled.h"

#include <cstring>

namespace runnel::ops {

void run_compiled_conv_int8(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const CompiledConv&>(self);
  kernels::constant_conv_int8(op.spec, op.x.at(context), context.data[op.y]);
}

void run_compiled_conv_int16(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const CompiledConv&>(self);
  kernels::constant_conv_int16(op.spec, op.x.at(context), context.data[op.y]);
}

void run_compiled_copy(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const CompiledCopy&>(self);
  const std::byte* const x = op.x.at(context);
  std::byte* const y = context.data[op.y];
  if (x != y) std::memcpy(y, x, op.bytes);
}

}  // namespace runnel::ops
