// Sums, differences, products and squared differences of tensors with any scale and zero point, as TensorFlow
// Lite computes them.
#include "inference/ops/affine.h"
#include "inference/ops/binary/broadcast.h"
#include "inference/ops/definitions.h"

namespace runnel::ops {
namespace {

struct BoundPair : BoundOperator {
  kernels::AffinePairSpec spec;  // of one call
  Broadcast<2> broadcast;
  Operand a, b;
  std::int32_t y = -1;
};

void run_pair(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundPair&>(self);
  op.broadcast.run({op.a.at(context), op.b.at(context)}, context.data[op.y],
                   [&](const auto& x, std::byte* y) { kernels::affine_pairs(op.spec, x[0], x[1], y); });
}

Status check_pair(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  RUNNEL_TRY(options<fb::BinaryOptions>(op).status());
  const TensorView a = input(model, op, 0), b = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_affine(a, false, "the first input"));
  RUNNEL_TRY(check_affine(b, false, "the second input"));
  RUNNEL_TRY(check_affine(y, false, "the output"));
  if (a.dtype != y.dtype || b.dtype != y.dtype) {
    return Status(Code::unsupported) << "inputs " << name_of(a.dtype) << " and " << name_of(b.dtype)
                                     << ", output " << name_of(y.dtype) << ", expected one type";
  }
  const Shape shapes[] = {a.shape, b.shape};
  RUNNEL_ASSIGN(const Shape expected, broadcast_shape(shapes));
  return expect_shape(y.shape, expected, "the output");
}

// Maxima and minima compare integers: all must mean the same.
Status check_choice(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_pair(model, op));
  const TensorView y = output(model, op);
  for (int i = 0; i < 2; ++i) {
    const TensorView x = input(model, op, i);
    if (x.scales[0] != y.scales[0] || x.zero_point() != y.zero_point())
      return Status(Code::unsupported)
             << "input " << i << " and the output have different scales or zero points";
  }
  return {};
}

template <kernels::AffinePair kOp>
Result<const BoundOperator*> prepare_pair(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const TensorView a = input(context.model(), op, 0), b = input(context.model(), op, 1),
                   y = output(context.model(), op);
  RUNNEL_ASSIGN(BoundPair* const bound, allocate<BoundPair>(context, run_pair));
  bound->a = operand(context, 0);
  bound->b = operand(context, 1);
  bound->y = output_index(op);
  kernels::AffinePairSpec& spec = bound->spec;
  spec.op = kOp;
  kernels::set_scales(spec, affine_of(a), affine_of(b), affine_of(y));
  affine_range(y, native(op.options_as_BinaryOptions()->activation()), spec.low, spec.high);
  const std::size_t element = size_of(y.dtype);
  bound->broadcast = plan_broadcast<2>(context.shape(output_index(op)),
                                       {context.shape(input_index(op, 0)), context.shape(input_index(op, 1))},
                                       {element, element}, element);
  spec.count = bound->broadcast.count;
  spec.a_count = bound->broadcast.counts[0];
  spec.b_count = bound->broadcast.counts[1];
  return static_cast<const BoundOperator*>(bound);
}

template <kernels::AffinePair kOp>
constexpr OperatorDefinition define(OpCode code, std::string_view name,
                                    Arithmetic arithmetic = Arithmetic::tflite) noexcept {
  constexpr bool choice = kOp == kernels::AffinePair::max || kOp == kernels::AffinePair::min;
  return {code,
          arithmetic,
          name,
          choice ? check_choice : check_pair,
          stream_broadcast,
          prepare_pair<kOp>,
          InPlace::elements};
}

}  // namespace

const OperatorDefinition kAddTflite = define<kernels::AffinePair::add>(OpCode::add, "add");
const OperatorDefinition kSubTflite = define<kernels::AffinePair::sub>(OpCode::sub, "sub");
const OperatorDefinition kMulTflite = define<kernels::AffinePair::mul>(OpCode::mul, "mul");
const OperatorDefinition kMaxTflite = define<kernels::AffinePair::max>(OpCode::max, "max");
const OperatorDefinition kSquaredDifference = define<kernels::AffinePair::squared_difference>(
    OpCode::squared_difference, "squared_difference", Arithmetic::only);
const OperatorDefinition kMinTflite = define<kernels::AffinePair::min>(OpCode::min, "min");

}  // namespace runnel::ops
