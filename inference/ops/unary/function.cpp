// Functions of one value: exp, sigmoid, gelu and the like, on float32 and on integers without a table.
#include "inference/ops/definitions.h"
#include "inference/ops/unary/bound_unary.h"

namespace runnel::ops {
namespace {

using kernels::Function;

void run_float(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundFunction&>(self);
  kernels::apply(op.how.spec, op.count, reinterpret_cast<const float*>(op.x.at(context)),
                 reinterpret_cast<float*>(context.data[op.y]));
}
void run_map(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundFunction&>(self);
  op.map(op.count, reinterpret_cast<const float*>(op.x.at(context)),
         reinterpret_cast<float*>(context.data[op.y]));
}
void run_swoosh(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundFunction&>(self);
  const kernels::FunctionSpec& spec = op.how.spec;
  op.swoosh({spec.alpha, spec.beta, spec.gamma}, op.count, reinterpret_cast<const float*>(op.x.at(context)),
            reinterpret_cast<float*>(context.data[op.y]));
}
void run_quantized(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundFunction&>(self);
  kernels::apply(op.how, op.count, op.x.at(context), context.data[op.y]);
}
void run_table(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundFunction&>(self);
  op.kernels->lut8(op.count, reinterpret_cast<const std::int8_t*>(op.x.at(context)),
                   reinterpret_cast<std::int8_t*>(context.data[op.y]), op.table);
}

// The functions that models of floats spend time in; the others are evaluated in double precision.
kernels::FloatMap map_of(const kernels::FloatKernels& kernels, Function function) noexcept {
  switch (function) {
    case Function::exp:
      return kernels.exp;
    case Function::sigmoid:
      return kernels.sigmoid;
    case Function::tanh:
      return kernels.tanh;
    case Function::swish:
      return kernels.swish;
    case Function::sqrt:
      return kernels.sqrt;
    case Function::log:
      return kernels.log;
    default:
      return nullptr;
  }
}

bool has_options(OpCode code) noexcept {
  return code == OpCode::hard_sigmoid || code == OpCode::elu || code == OpCode::leaky_relu ||
         code == OpCode::gelu || code == OpCode::swoosh;
}

Status check_function(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  if (has_options(code_of(op))) {
    RUNNEL_ASSIGN(const fb::FunctionOptions* const o, options<fb::FunctionOptions>(op));
    for (const float value : {o->alpha(), o->beta(), o->gamma()}) {
      if (!(value - value == 0)) return Status(Code::invalid_data) << "alpha, beta or gamma is not finite";
    }
  }
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_number(x, "the input"));
  RUNNEL_TRY(check_number(y, "the output"));
  return expect_shape(y.shape, x.shape, "the output");
}

template <Function kFunction>
Result<const BoundOperator*> prepare_function(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const TensorView x = input(context.model(), op, 0), y = output(context.model(), op);
  const bool floats = x.dtype == DType::float32 && y.dtype == DType::float32;
  RUNNEL_ASSIGN(BoundFunction* const bound,
                allocate<BoundFunction>(context, floats ? run_float : run_quantized));
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->count = static_cast<std::size_t>(context.shape(bound->y).elements());
  kernels::QuantizedFunction& how = bound->how;
  how.spec.function = kFunction;
  if (const fb::FunctionOptions* const o = op.options_as_FunctionOptions(); o != nullptr) {
    how.spec.alpha = o->alpha();
    how.spec.beta = o->beta();
    how.spec.gamma = o->gamma();
    if (kFunction == Function::gelu && o->tanh_form()) how.spec.function = Function::gelu_tanh;
  }
  how.from = x.dtype;
  how.to = y.dtype;
  how.x_exponent = x.exponent();
  how.y_exponent = y.exponent();
  how.rounding = rounding_of(op);
  if (floats) {
    bound->map = map_of(kernels::float_kernels(context.isa()), how.spec.function);
    if (bound->map != nullptr) bound->run = run_map;
    if constexpr (kFunction == Function::swoosh) {
      bound->swoosh = kernels::float_swoosh(context.isa());
      bound->run = run_swoosh;
    }
  }
  const bool vectors = bound->map != nullptr || bound->swoosh != nullptr;
  context.chose_kernel({vectors ? vector_level(context.isa()) : Isa::generic,
                        vectors && kFunction != Function::log ? "polynomial" : "double precision"});
  if (x.dtype == DType::int8 && y.dtype == DType::int8) {
    auto* const table = context.memory().array<std::int8_t>(256);
    if (table == nullptr) return Status(Code::out_of_memory) << "no memory for its table of 256 bytes";
    for (int i = 0; i < 256; ++i) table[i] = static_cast<std::int8_t>(i - 128);
    kernels::apply(how, 256, table, table);
    bound->kernels = &kernels::elementwise(context.isa());
    bound->table = table;
    bound->run = run_table;
    context.chose_kernel({vector_level(context.isa()), "table"});
  }
  return static_cast<const BoundOperator*>(bound);
}

template <Function kFunction>
constexpr OperatorDefinition define(OpCode code, std::string_view name) noexcept {
  return {code,
          Arithmetic::espdl,
          name,
          check_function,
          stream_pointwise,
          prepare_function<kFunction>,
          InPlace::elements};
}

}  // namespace

const OperatorDefinition kAbs = define<Function::abs>(OpCode::abs, "abs");
const OperatorDefinition kNeg = define<Function::neg>(OpCode::neg, "neg");
const OperatorDefinition kExp = define<Function::exp>(OpCode::exp, "exp");
const OperatorDefinition kLog = define<Function::log>(OpCode::log, "log");
const OperatorDefinition kSqrt = define<Function::sqrt>(OpCode::sqrt, "sqrt");
const OperatorDefinition kSigmoid = define<Function::sigmoid>(OpCode::sigmoid, "sigmoid");
const OperatorDefinition kTanh = define<Function::tanh>(OpCode::tanh, "tanh");
const OperatorDefinition kSwish = define<Function::swish>(OpCode::swish, "swish");
const OperatorDefinition kHardSigmoid = define<Function::hard_sigmoid>(OpCode::hard_sigmoid, "hard_sigmoid");
const OperatorDefinition kHardSwish = define<Function::hard_swish>(OpCode::hard_swish, "hard_swish");
const OperatorDefinition kGelu = define<Function::gelu>(OpCode::gelu, "gelu");
const OperatorDefinition kElu = define<Function::elu>(OpCode::elu, "elu");
const OperatorDefinition kLeakyRelu = define<Function::leaky_relu>(OpCode::leaky_relu, "leaky_relu");
const OperatorDefinition kMish = define<Function::mish>(OpCode::mish, "mish");
const OperatorDefinition kSoftplus = define<Function::softplus>(OpCode::softplus, "softplus");
const OperatorDefinition kErf = define<Function::erf>(OpCode::erf, "erf");
const OperatorDefinition kSwoosh = define<Function::swoosh>(OpCode::swoosh, "swoosh");

}  // namespace runnel::ops
