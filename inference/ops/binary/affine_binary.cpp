// Sums, differences, products, quotients, squared differences and PReLU of tensors with any scale and zero
// point, as TensorFlow Lite computes them.
#include "inference/ops/affine.h"
#include "inference/ops/binary/bound_pair.h"
#include "inference/ops/definitions.h"
#include "kernels/elementwise/affine_quotient.h"

namespace runnel::ops {
namespace {

void run_pair(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundAffinePair&>(self);
  op.run_pieces(context, [&](const auto& x, std::byte* y) { op.pairs(op.spec, x[0], x[1], y); });
}

Status check_tensors(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  const TensorView a = input(model, op, 0), b = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_affine(a, false, "the first input"));
  RUNNEL_TRY(check_affine(b, false, "the second input"));
  RUNNEL_TRY(check_affine(y, false, "the output"));
  return check_pair_type(a, b, y);
}

Status check_pair(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(options<fb::BinaryOptions>(op).status());
  return check_tensors(model, op);
}

// Slopes may be repeated, x is not.
Status check_prelu(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_tensors(model, op));
  return expect_shape(output(model, op).shape, input(model, op, 0).shape, "the output");
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

// The limits of the output's integers.
template <class Spec>
void set_range(const fb::Operator& op, const TensorView& y, Spec& spec) noexcept {
  const fb::BinaryOptions* const given = op.options_as_BinaryOptions();
  affine_range(y, given == nullptr ? Activation::none : native(given->activation()), spec.low, spec.high);
}

template <kernels::AffinePair kOp>
Result<const BoundOperator*> prepare_pair(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const TensorView a = input(context.model(), op, 0), b = input(context.model(), op, 1),
                   y = output(context.model(), op);
  RUNNEL_ASSIGN(BoundAffinePair* const bound, bind_pair<BoundAffinePair>(context, run_pair));
  kernels::AffinePairSpec& spec = bound->spec;
  spec.op = kOp;
  kernels::set_scales(spec, affine_of(a), affine_of(b), affine_of(y));
  set_range(op, y, spec);
  bound->set_counts(spec);
  bound->pairs = kernels::affine_pairs_for(spec, context.isa());
  context.chose_kernel(
      {bound->pairs == kernels::affine_pairs ? Isa::reference : vector_level(context.isa()), ""});
  return static_cast<const BoundOperator*>(bound);
}

// ---- quotients: a loop of their own, which programs that do not divide do not link
struct BoundQuotient : BoundPair {
  kernels::QuotientSpec spec;  // of one piece
};

void run_quotient(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundQuotient&>(self);
  op.run_pieces(context, [&](const auto& x, std::byte* y) {
    kernels::affine_quotients(op.spec, reinterpret_cast<const std::int8_t*>(x[0]),
                              reinterpret_cast<const std::int8_t*>(x[1]), reinterpret_cast<std::int8_t*>(y));
  });
}

// The reference divides int8 only.
Status check_quotient(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_pair(model, op));
  const DType type = output(model, op).dtype;
  if (type == DType::int8) return {};
  return Status(Code::unsupported) << "operands are " << name_of(type) << ", expected int8";
}

Result<const BoundOperator*> prepare_quotient(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const TensorView y = output(context.model(), op);
  RUNNEL_ASSIGN(BoundQuotient* const bound, bind_pair<BoundQuotient>(context, run_quotient));
  kernels::set_scales(bound->spec, affine_of(input(context.model(), op, 0)),
                      affine_of(input(context.model(), op, 1)), affine_of(y));
  set_range(op, y, bound->spec);
  bound->set_counts(bound->spec);
  return static_cast<const BoundOperator*>(bound);
}

template <kernels::AffinePair kOp>
constexpr OperatorDefinition define(OpCode code, std::string_view name,
                                    Arithmetic arithmetic = Arithmetic::tflite) noexcept {
  constexpr bool choice = kOp == kernels::AffinePair::max || kOp == kernels::AffinePair::min;
  return {code,
          arithmetic,
          name,
          choice                              ? check_choice
          : kOp == kernels::AffinePair::prelu ? check_prelu
                                              : check_pair,
          stream_broadcast,
          prepare_pair<kOp>,
          InPlace::elements};
}

}  // namespace

const OperatorDefinition kAddTflite = define<kernels::AffinePair::add>(OpCode::add, "add");
const OperatorDefinition kSubTflite = define<kernels::AffinePair::sub>(OpCode::sub, "sub");
const OperatorDefinition kMulTflite = define<kernels::AffinePair::mul>(OpCode::mul, "mul");
const OperatorDefinition kDivTflite = {OpCode::div,      Arithmetic::tflite, "div",
                                       check_quotient,   stream_broadcast,   prepare_quotient,
                                       InPlace::elements};
const OperatorDefinition kMaxTflite = define<kernels::AffinePair::max>(OpCode::max, "max");
const OperatorDefinition kSquaredDifference = define<kernels::AffinePair::squared_difference>(
    OpCode::squared_difference, "squared_difference", Arithmetic::only);
const OperatorDefinition kPreluTflite = define<kernels::AffinePair::prelu>(OpCode::prelu, "prelu");
const OperatorDefinition kMinTflite = define<kernels::AffinePair::min>(OpCode::min, "min");

}  // namespace runnel::ops
