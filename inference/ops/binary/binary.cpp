// Sums, differences, products, maxima and minima of two tensors, with broadcasting.
#include "inference/ops/affine.h"
#include "inference/ops/bound.h"
#include "inference/ops/definitions.h"
#include "inference/ops/support.h"

namespace runnel::ops {
namespace {

void run_binary(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundBinary&>(self);
  op.run_pieces(context, [&](const auto& x, std::byte* y) { op.kernels->binary(op.spec, x[0], x[1], y); });
}
void run_plain_binary(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundBinary&>(self);
  op.run_pieces(context, [&](const auto& x, std::byte* y) { kernels::pairs(op.plain, x[0], x[1], y); });
}

Status check_binary(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  RUNNEL_ASSIGN(const fb::BinaryOptions* const o, options<fb::BinaryOptions>(op));
  RUNNEL_TRY(check_plain_activation(native(o->activation())));
  const TensorView a = input(model, op, 0), b = input(model, op, 1), y = output(model, op);
  if (is_plain(y)) {
    if (!is_plain(a) || !is_plain(b) || native(o->activation()) != Activation::none)
      return Status(Code::unsupported) << name_of(y.dtype) << " with scales, another type or an activation";
  } else {
    const bool floats = y.dtype == DType::float32;
    RUNNEL_TRY(check_number(a, floats, "the first input"));
    RUNNEL_TRY(check_number(b, floats, "the second input"));
    RUNNEL_TRY(check_number(y, floats, "the output"));
  }
  return check_pair_type(a, b, y);
}

kernels::PairOp pair_of(kernels::BinaryOp op) noexcept {
  switch (op) {
    case kernels::BinaryOp::add:
      return kernels::PairOp::add;
    case kernels::BinaryOp::sub:
      return kernels::PairOp::sub;
    case kernels::BinaryOp::mul:
      return kernels::PairOp::mul;
    case kernels::BinaryOp::max:
      return kernels::PairOp::max;
    case kernels::BinaryOp::min:
    case kernels::BinaryOp::prelu:  // pair.cpp
      break;
  }
  return kernels::PairOp::min;
}

template <kernels::BinaryOp kOp, bool kExact>
Result<const BoundOperator*> prepare_binary(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const TensorView a = input(context.model(), op, 0), b = input(context.model(), op, 1),
                   y = output(context.model(), op);
  RUNNEL_ASSIGN(BoundBinary* const bound,
                bind_pair<BoundBinary>(context, is_integer(y.dtype) ? run_binary : run_plain_binary));
  bound->kernels = &kernels::elementwise(context.isa());
  kernels::BinarySpec& spec = bound->spec;
  spec.op = kOp;
  spec.exact = kExact;
  spec.dtype = y.dtype;
  spec.a_exponent = a.exponent();
  spec.b_exponent = b.exponent();
  spec.y_exponent = y.exponent();
  spec.rounding = rounding_of(op);
  const Activation activation = native(op.options_as_BinaryOptions()->activation());
  activation_range(y.dtype, 0, activation, spec.low, spec.high);
  bound->plain.op = pair_of(kOp);
  bound->plain.dtype = y.dtype;
  bound->plain.relu = activation == Activation::relu;
  bound->set_counts(spec);
  bound->set_counts(bound->plain);
  if (is_integer(y.dtype)) context.chose_kernel(kernels::kernel_choice(spec, context.isa()));
  return static_cast<const BoundOperator*>(bound);
}

template <kernels::BinaryOp kOp, bool kExact>
constexpr OperatorDefinition define(OpCode code, Arithmetic arithmetic, std::string_view name) noexcept {
  return {
      code, arithmetic, name, check_binary, stream_broadcast, prepare_binary<kOp, kExact>, InPlace::elements};
}

}  // namespace

const OperatorDefinition kAdd = define<kernels::BinaryOp::add, false>(OpCode::add, Arithmetic::espdl, "add");
const OperatorDefinition kAddExact =
    define<kernels::BinaryOp::add, true>(OpCode::add, Arithmetic::exact, "add");
const OperatorDefinition kSub = define<kernels::BinaryOp::sub, false>(OpCode::sub, Arithmetic::espdl, "sub");
const OperatorDefinition kSubExact =
    define<kernels::BinaryOp::sub, true>(OpCode::sub, Arithmetic::exact, "sub");
const OperatorDefinition kMul = define<kernels::BinaryOp::mul, false>(OpCode::mul, Arithmetic::espdl, "mul");
const OperatorDefinition kMulExact =
    define<kernels::BinaryOp::mul, true>(OpCode::mul, Arithmetic::exact, "mul");
const OperatorDefinition kMax = define<kernels::BinaryOp::max, false>(OpCode::max, Arithmetic::espdl, "max");
const OperatorDefinition kMin = define<kernels::BinaryOp::min, false>(OpCode::min, Arithmetic::espdl, "min");

}  // namespace runnel::ops
