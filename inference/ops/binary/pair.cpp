// Quotients, remainders, powers, PReLU, comparisons and logic of two tensors, with broadcasting.
#include "inference/ops/binary/bound_pair.h"
#include "inference/ops/definitions.h"
#include "inference/ops/support.h"
#include "kernels/arithmetic/arithmetic.h"
#include "kernels/elementwise/elementwise.h"

namespace runnel::ops {
namespace {

using kernels::PairOp;

struct BoundPlainPair : BoundPair {
  kernels::PairSpec spec;  // of one piece
};

void run_pair(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundPlainPair&>(self);
  op.run_pieces(context, [&](const auto& x, std::byte* y) { kernels::pairs(op.spec, x[0], x[1], y); });
}

// Two inputs of one type: quantized integers or float32.
Status check_numbers(const TensorView& a, const TensorView& b) noexcept {
  RUNNEL_TRY(check_number(a, "the first input"));
  RUNNEL_TRY(check_number(b, "the second input"));
  if (a.dtype != b.dtype)
    return Status(Code::unsupported) << "inputs " << name_of(a.dtype) << " and " << name_of(b.dtype)
                                     << ", expected one type";
  return {};
}

Status check_arithmetic(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  RUNNEL_TRY(options<fb::BinaryOptions>(op).status());
  const TensorView a = input(model, op, 0), b = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_numbers(a, b));
  RUNNEL_TRY(check_number(y, "the output"));
  if (y.dtype != a.dtype)
    return Status(Code::unsupported) << "inputs " << name_of(a.dtype) << ", output " << name_of(y.dtype)
                                     << ", expected one type";
  return check_pair_shape(a, b, y);
}

Status check_prelu(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  const TensorView x = input(model, op, 0), slopes = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_numbers(x, slopes));
  RUNNEL_TRY(check_number(y, "the output"));
  if (y.dtype != x.dtype)
    return Status(Code::unsupported) << "input " << name_of(x.dtype) << ", output " << name_of(y.dtype)
                                     << ", expected one type";
  RUNNEL_TRY(expect_shape(y.shape, x.shape, "the output"));
  return check_pair_shape(x, slopes, y);
}

Status check_comparison(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  const TensorView a = input(model, op, 0), b = input(model, op, 1), y = output(model, op);
  const bool booleans =
      code_of(op) == OpCode::equal && a.dtype == DType::boolean && b.dtype == DType::boolean;
  const bool plain = is_plain(a) && is_plain(b) && a.dtype == b.dtype;
  if (!booleans && !plain) RUNNEL_TRY(check_numbers(a, b));
  if (y.dtype != DType::boolean)
    return Status(Code::unsupported) << "the output is " << name_of(y.dtype) << ", expected bool";
  return check_pair_shape(a, b, y);
}

Status check_logic(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  const TensorView a = input(model, op, 0), b = input(model, op, 1), y = output(model, op);
  if (a.dtype != DType::boolean || b.dtype != DType::boolean || y.dtype != DType::boolean) {
    return Status(Code::unsupported) << "inputs " << name_of(a.dtype) << " and " << name_of(b.dtype)
                                     << ", output " << name_of(y.dtype) << ", expected bool";
  }
  return check_pair_shape(a, b, y);
}

template <PairOp kOp>
Result<const BoundOperator*> prepare_pair(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const TensorView a = input(context.model(), op, 0), b = input(context.model(), op, 1),
                   y = output(context.model(), op);
  RUNNEL_ASSIGN(BoundPlainPair* const bound, bind_pair<BoundPlainPair>(context, run_pair));
  kernels::PairSpec& spec = bound->spec;
  spec.op = kOp;
  spec.dtype = a.dtype;
  spec.a_exponent = a.exponent();
  spec.b_exponent = b.exponent();
  spec.y_exponent = y.exponent();
  spec.rounding = rounding_of(op);
  const fb::BinaryOptions* const given = op.options_as_BinaryOptions();
  const Activation activation = given == nullptr ? Activation::none : native(given->activation());
  activation_range(y.dtype, 0, activation, spec.low, spec.high);
  spec.relu = activation == Activation::relu;
  bound->set_counts(spec);
  return static_cast<const BoundOperator*>(bound);
}

// Integers have a kernel of each instruction level.
struct BoundPrelu : BoundPair {
  kernels::BinarySpec spec;  // of one piece
  const kernels::Elementwise* kernels = nullptr;
};

void run_prelu(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundPrelu&>(self);
  op.run_pieces(context, [&](const auto& x, std::byte* y) { op.kernels->binary(op.spec, x[0], x[1], y); });
}

Result<const BoundOperator*> prepare_prelu(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const TensorView x = input(context.model(), op, 0), y = output(context.model(), op);
  if (!is_integer(x.dtype)) return prepare_pair<PairOp::prelu>(context);
  RUNNEL_ASSIGN(BoundPrelu* const bound, bind_pair<BoundPrelu>(context, run_prelu));
  bound->kernels = &kernels::elementwise(context.isa());
  kernels::BinarySpec& spec = bound->spec;
  spec.op = kernels::BinaryOp::prelu;
  spec.dtype = x.dtype;
  spec.a_exponent = x.exponent();
  spec.b_exponent = input(context.model(), op, 1).exponent();
  spec.y_exponent = y.exponent();
  spec.rounding = rounding_of(op);
  activation_range(y.dtype, 0, Activation::none, spec.low, spec.high);
  bound->set_counts(spec);
  context.chose_kernel(kernels::kernel_choice(spec, context.isa()));
  return static_cast<const BoundOperator*>(bound);
}

template <PairOp kOp>
constexpr OperatorDefinition arithmetic(OpCode code, Arithmetic arithmetic, std::string_view name) noexcept {
  return {code, arithmetic, name, check_arithmetic, stream_broadcast, prepare_pair<kOp>, InPlace::elements};
}
template <PairOp kOp>
constexpr OperatorDefinition comparison(OpCode code, std::string_view name) noexcept {
  return {code,
          Arithmetic::espdl,
          name,
          check_comparison,
          stream_broadcast,
          prepare_pair<kOp>,
          InPlace::elements};
}
template <PairOp kOp>
constexpr OperatorDefinition logic(OpCode code, std::string_view name) noexcept {
  return {code, Arithmetic::espdl, name, check_logic, stream_broadcast, prepare_pair<kOp>, InPlace::elements};
}

}  // namespace

const OperatorDefinition kDiv = arithmetic<PairOp::div>(OpCode::div, Arithmetic::espdl, "div");
const OperatorDefinition kMod = arithmetic<PairOp::mod>(OpCode::mod, Arithmetic::espdl, "mod");
const OperatorDefinition kModFloored = arithmetic<PairOp::mod_floor>(OpCode::mod, Arithmetic::floored, "mod");
const OperatorDefinition kPow = arithmetic<PairOp::pow>(OpCode::pow, Arithmetic::espdl, "pow");
const OperatorDefinition kPrelu{OpCode::prelu,    Arithmetic::espdl, "prelu",          check_prelu,
                                stream_broadcast, prepare_prelu,     InPlace::elements};
const OperatorDefinition kEqual = comparison<PairOp::equal>(OpCode::equal, "equal");
const OperatorDefinition kGreater = comparison<PairOp::greater>(OpCode::greater, "greater");
const OperatorDefinition kGreaterOrEqual =
    comparison<PairOp::greater_or_equal>(OpCode::greater_or_equal, "greater_or_equal");
const OperatorDefinition kLess = comparison<PairOp::less>(OpCode::less, "less");
const OperatorDefinition kLessOrEqual =
    comparison<PairOp::less_or_equal>(OpCode::less_or_equal, "less_or_equal");
const OperatorDefinition kLogicalAnd = logic<PairOp::logical_and>(OpCode::logical_and, "logical_and");
const OperatorDefinition kLogicalOr = logic<PairOp::logical_or>(OpCode::logical_or, "logical_or");
const OperatorDefinition kLogicalXor = logic<PairOp::logical_xor>(OpCode::logical_xor, "logical_xor");

}  // namespace runnel::ops
