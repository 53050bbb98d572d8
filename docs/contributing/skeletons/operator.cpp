// Distances of tensors: y = clamp(|a - b|), int8 or int16 with one power-of-two scale for all three.
//
// Copy to inference/ops/FAMILY/NAME.cpp. check, stream and prepare are beside each other, and what `check`
// accepts the others trust. Replace "distance"; the loop belongs to kernels/, with a reference that defines
// it.
#include <algorithm>

#include "inference/ops/support.h"

namespace runnel::ops {

extern const OperatorDefinition distance;

namespace {

struct BoundDistance : BoundOperator {
  Operand a, b;
  std::int32_t y = -1;
  std::size_t count = 0;
};

template <class T>
void run_distance(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundDistance&>(self);
  const auto* a = reinterpret_cast<const T*>(op.a.at(context));
  const auto* b = reinterpret_cast<const T*>(op.b.at(context));
  auto* y = reinterpret_cast<T*>(context.data[op.y]);
  for (std::size_t i = 0; i < op.count; ++i) {
    const std::int32_t difference = a[i] - b[i];
    const std::int32_t size = difference < 0 ? -difference : difference;
    y[i] = static_cast<T>(std::min<std::int32_t>(size, std::numeric_limits<T>::max()));
  }
}

// Everything that can be wrong with an operator of a file: number, types, scales and shapes of its operands.
Status check_distance(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  const TensorView a = input(model, op, 0), b = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_quantized(a, "the first input"));
  RUNNEL_TRY(check_quantized(b, "the second input"));
  RUNNEL_TRY(check_quantized(y, "the output"));
  if (a.dtype != y.dtype || b.dtype != y.dtype || a.exponent() != y.exponent() ||
      b.exponent() != y.exponent())
    return Status(Code::unsupported) << "inputs and output have different types or scales";
  RUNNEL_TRY(expect_shape(b.shape, a.shape, "the second input"));
  return expect_shape(y.shape, a.shape, "the output");
}

// Binds the operator to the shapes of this run. The only place that allocates.
Result<const BoundOperator*> prepare_distance(PrepareContext& context) noexcept {
  const bool bytes = output(context.model(), context.op()).dtype == DType::int8;
  RUNNEL_ASSIGN(
      BoundDistance* const bound,
      allocate<BoundDistance>(context, bytes ? run_distance<std::int8_t> : run_distance<std::int16_t>));
  bound->a = operand(context, 0);
  bound->b = operand(context, 1);
  bound->y = output_index(context.op());
  bound->count = static_cast<std::size_t>(context.shape(bound->y).elements());
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

// The streaming rule of what works frame by frame is shared; `elements`: the output may overwrite an input.
const OperatorDefinition distance = {OpCode::none,     Arithmetic::only, "distance",       check_distance,
                                     stream_pointwise, prepare_distance, InPlace::elements};

}  // namespace runnel::ops
