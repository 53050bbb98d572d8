// Operators bound ahead of time: what their prepare() would make, as constants of a program that `runnel embed` has written. Each run function
// names the one kernel that it needs.
#pragma once

#include "inference/operator.h"
#include "inference/ops/support.h"
#include "kernels/constant.h"

namespace runnel::ops {

// A convolution, or a fully connected layer, of integers.
struct CompiledConv : BoundOperator {
  kernels::ConvSpec spec;
  Operand x;
  std::int32_t y = -1;
};
void run_compiled_conv_int8(const BoundOperator& self, const RunContext& context) noexcept;
void run_compiled_conv_int16(const BoundOperator& self, const RunContext& context) noexcept;

// Two operands of powers of two, whole or repeated (BinarySpec).
struct CompiledBinary : BoundOperator {
  kernels::BinarySpec spec;
  Operand a, b;
  std::int32_t y = -1;
};
template <kernels::BinaryOp kOp, class T>
void run_compiled_binary(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const CompiledBinary&>(self);
  kernels::constant_binary<kOp, T>(op.spec, op.a.at(context), op.b.at(context), context.data[op.y]);
}

// The same elements in the same order: a reshape, or a transpose of axes of one.
struct CompiledCopy : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  std::size_t bytes = 0;
};
void run_compiled_copy(const BoundOperator& self, const RunContext& context) noexcept;

// A BoundOperator of type T with `run`, for aggregates.
template <class T>
constexpr T compiled(void (*run)(const BoundOperator&, const RunContext&) noexcept, T bound) noexcept {
  bound.run = run;
  return bound;
}

}  // namespace runnel::ops
