// Operations on each element of a tensor with any scale and zero point, as TensorFlow Lite computes them
// (version 3).
#include "inference/ops/affine.h"
#include "inference/ops/definitions.h"
#include "inference/ops/unary/bound_unary.h"

namespace runnel::ops {
namespace {

void run_elements(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundAffine&>(self);
  kernels::affine_unary(op.spec, op.count, op.x.at(context), context.data[op.y]);
}
void run_table(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundAffine&>(self);
  op.kernels->lut8(op.count, reinterpret_cast<const std::int8_t*>(op.x.at(context)),
                   reinterpret_cast<std::int8_t*>(context.data[op.y]), op.table);
}
void run_quantize(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundAffine&>(self);
  op.conversions.quantize(op.spec.y, op.rounding, op.count, reinterpret_cast<const float*>(op.x.at(context)),
                          context.data[op.y]);
}
void run_dequantize(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundAffine&>(self);
  op.conversions.dequantize(op.spec.x, op.count, op.x.at(context),
                            reinterpret_cast<float*>(context.data[op.y]));
}

Status same_shape(const Model& model, const fb::Operator& op) noexcept {
  return expect_shape(output(model, op).shape, input(model, op, 0).shape, "the output");
}

// The outputs of sigmoid and tanh are fractions of 256, 128 or 32768.
Status check_fraction(const TensorView& y, bool symmetric) noexcept {
  const bool wide = y.dtype == DType::int16;
  const float scale = wide ? 1.0f / 32768 : symmetric ? 1.0f / 128 : 1.0f / 256;
  const std::int32_t zero = wide || symmetric ? 0 : -128;
  if (y.scales[0] > scale * 0.999f && y.scales[0] < scale * 1.001f && y.zero_point() == zero) return {};
  return Status(Code::unsupported) << "its output has zero point " << y.zero_point()
                                   << " or a scale that is not 1/" << static_cast<int>(1 / scale)
                                   << " with zero point " << zero;
}

kernels::AffineUnarySpec spec_of(const Model& model, const fb::Operator& op,
                                 kernels::AffineUnary kind) noexcept {
  kernels::AffineUnarySpec spec;
  spec.op = kind;
  spec.x = affine_of(input(model, op, 0));
  spec.y = affine_of(output(model, op));
  const auto activation = kind == kernels::AffineUnary::relu ? Activation::relu : Activation::none;
  affine_range(output(model, op), activation, spec.low, spec.high);
  return spec;
}
float alpha_of(const fb::Operator& op) noexcept {
  const fb::FunctionOptions* const o = op.options_as_FunctionOptions();
  return o == nullptr ? 0.0f : o->alpha();
}

template <kernels::AffineUnary kOp>
Status check_unary(const Model& model, const fb::Operator& op) noexcept {
  using kernels::AffineUnary;
  RUNNEL_TRY(check_operands(op, 1, 1));
  const TensorView x = input(model, op, 0), y = output(model, op);
  constexpr bool wide = kOp == AffineUnary::requantize;
  RUNNEL_TRY(check_affine(x, wide, "the input"));
  RUNNEL_TRY(check_affine(y, wide, "the output"));
  if (!wide && x.dtype != y.dtype)
    return Status(Code::unsupported) << "input " << name_of(x.dtype) << ", output " << name_of(y.dtype)
                                     << ", expected one type";
  RUNNEL_TRY(same_shape(model, op));
  if (kOp == AffineUnary::leaky_relu) {
    RUNNEL_ASSIGN(const fb::FunctionOptions* const o, options<fb::FunctionOptions>(op));
    if (!(o->alpha() - o->alpha() == 0)) return Status(Code::invalid_data) << "alpha is not finite";
  }
  if (kOp == AffineUnary::sigmoid || kOp == AffineUnary::tanh) {
    RUNNEL_TRY(check_fraction(y, kOp == AffineUnary::tanh));
    if (x.dtype == DType::int16 && x.zero_point() != 0)
      return Status(Code::unsupported) << "an int16 input with zero point " << x.zero_point();
  }
  if (kOp == AffineUnary::hard_swish && x.dtype != DType::int8)
    return Status(Code::unsupported) << name_of(x.dtype) << ", expected int8";
  kernels::AffineUnarySpec spec = spec_of(model, op, kOp);
  if (!kernels::set_scales(spec, alpha_of(op)))
    return Status(Code::unsupported) << "scales outside of what this operator can compute with";
  return {};
}

Result<BoundAffine*> bind(PrepareContext& context,
                          void (*run)(const BoundOperator&, const RunContext&) noexcept) noexcept {
  RUNNEL_ASSIGN(BoundAffine* const bound, allocate<BoundAffine>(context, run));
  bound->x = operand(context, 0);
  bound->y = output_index(context.op());
  bound->count = static_cast<std::size_t>(context.shape(bound->y).elements());
  return bound;
}

// Bytes to bytes: a table.
Result<const BoundOperator*> finish(PrepareContext& context, BoundAffine* bound) noexcept {
  const kernels::AffineUnarySpec& spec = bound->spec;
  context.chose_kernel({Isa::reference, ""});
  if (size_of(spec.x.dtype) != 1 || size_of(spec.y.dtype) != 1)
    return static_cast<const BoundOperator*>(bound);
  auto* const table = context.memory().array<std::int8_t>(256);
  if (table == nullptr) return Status(Code::out_of_memory) << "no memory for its table of 256 bytes";
  // An entry for each byte, taken as an int8 from -128 on.
  for (int i = 0; i < 256; ++i) {
    const int x = i < 128 && spec.x.dtype == DType::uint8 ? i + 128 : i - 128;
    table[i] = static_cast<std::int8_t>(kernels::affine_unary(spec, x));
  }
  bound->kernels = &kernels::elementwise(context.isa());
  context.chose_kernel({vector_level(context.isa()), "table"});
  bound->table = table;
  bound->run = run_table;
  return static_cast<const BoundOperator*>(bound);
}

template <kernels::AffineUnary kOp>
Result<const BoundOperator*> prepare_unary(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundAffine* const bound, bind(context, run_elements));
  bound->spec = spec_of(context.model(), context.op(), kOp);
  kernels::set_scales(bound->spec, alpha_of(context.op()));
  return finish(context, bound);
}

// Between equal scales: only limits.
Status check_clip(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_ASSIGN(const fb::ClipOptions* const o, options<fb::ClipOptions>(op));
  if (o->low() > o->high())
    return Status(Code::invalid_data)
           << "clips to " << o->low() << " .. " << o->high() << ", expected low <= high";
  return check_unary<kernels::AffineUnary::requantize>(model, op);
}
Result<const BoundOperator*> prepare_clip(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundAffine* const bound, bind(context, run_elements));
  bound->spec = spec_of(context.model(), context.op(), kernels::AffineUnary::requantize);
  kernels::set_scales(bound->spec, 0);
  const fb::ClipOptions& o = *context.op().options_as_ClipOptions();
  bound->spec.low = std::max(bound->spec.low, o.low());
  bound->spec.high = std::max(bound->spec.low, std::min(bound->spec.high, o.high()));
  return finish(context, bound);
}

Status check_quantize(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  if (input(model, op, 0).dtype != DType::float32)
    return Status(Code::unsupported) << "the input is not float32";
  RUNNEL_TRY(check_affine(output(model, op), true, "the output"));
  return same_shape(model, op);
}
Status check_dequantize(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  if (output(model, op).dtype != DType::float32)
    return Status(Code::unsupported) << "the output is not float32";
  RUNNEL_TRY(check_affine(input(model, op, 0), true, "the input"));
  return same_shape(model, op);
}
Result<const BoundOperator*> prepare_quantize(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundAffine* const bound, bind(context, run_quantize));
  bound->spec.y = affine_of(output(context.model(), context.op()));
  bound->rounding = rounding_of(context.op());
  bound->conversions = kernels::affine_conversions_for(bound->spec.y.dtype, context.isa());
  context.chose_kernel({bound->conversions.isa, ""});
  return static_cast<const BoundOperator*>(bound);
}
Result<const BoundOperator*> prepare_dequantize(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundAffine* const bound, bind(context, run_dequantize));
  bound->spec.x = affine_of(input(context.model(), context.op(), 0));
  bound->conversions = kernels::affine_conversions_for(bound->spec.x.dtype, context.isa());
  context.chose_kernel({bound->conversions.isa, ""});
  return static_cast<const BoundOperator*>(bound);
}

template <kernels::AffineUnary kOp>
constexpr OperatorDefinition define(OpCode code, std::string_view name) noexcept {
  return {code,
          Arithmetic::tflite,
          name,
          check_unary<kOp>,
          stream_pointwise,
          prepare_unary<kOp>,
          InPlace::elements};
}

}  // namespace

const OperatorDefinition kReluTflite = define<kernels::AffineUnary::relu>(OpCode::relu, "relu");
const OperatorDefinition kRequantizeTflite =
    define<kernels::AffineUnary::requantize>(OpCode::requantize, "requantize");
const OperatorDefinition kSigmoidTflite = define<kernels::AffineUnary::sigmoid>(OpCode::sigmoid, "sigmoid");
const OperatorDefinition kTanhTflite = define<kernels::AffineUnary::tanh>(OpCode::tanh, "tanh");
const OperatorDefinition kLeakyReluTflite =
    define<kernels::AffineUnary::leaky_relu>(OpCode::leaky_relu, "leaky_relu");
const OperatorDefinition kHardSwishTflite =
    define<kernels::AffineUnary::hard_swish>(OpCode::hard_swish, "hard_swish");
const OperatorDefinition kClipTflite{OpCode::clip,     Arithmetic::tflite, "clip",           check_clip,
                                     stream_pointwise, prepare_clip,       InPlace::elements};
const OperatorDefinition kQuantizeTflite{OpCode::quantize, Arithmetic::tflite, "quantize",
                                         check_quantize,   stream_pointwise,   prepare_quantize};
const OperatorDefinition kDequantizeTflite{OpCode::dequantize, Arithmetic::tflite, "dequantize",
                                           check_dequantize,   stream_pointwise,   prepare_dequantize};

}  // namespace runnel::ops
