// Operations on each element of one tensor: ReLU, clipping, changes of scale and type, tables.
#include <algorithm>

#include "inference/ops/affine.h"
#include "inference/ops/definitions.h"
#include "inference/ops/unary/bound_unary.h"

namespace runnel::ops {
namespace {

void run_requantize(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundUnary&>(self);
  op.kernels->requantize(op.from, op.to, op.count, op.x.at(context), context.data[op.y], op.shift,
                         op.rounding, op.low, op.high);
}
void run_quantize(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundUnary&>(self);
  op.kernels->quantize(op.to, op.count, reinterpret_cast<const float*>(op.x.at(context)), context.data[op.y],
                       op.shift, op.rounding);
}
void run_dequantize(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundUnary&>(self);
  op.kernels->dequantize(op.from, op.count, op.x.at(context), reinterpret_cast<float*>(context.data[op.y]),
                         op.shift);
}
void run_lut8(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundUnary&>(self);
  op.kernels->lut8(op.count, reinterpret_cast<const std::int8_t*>(op.x.at(context)),
                   reinterpret_cast<std::int8_t*>(context.data[op.y]),
                   reinterpret_cast<const std::int8_t*>(op.table));
}
void run_lut16(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundUnary&>(self);
  op.kernels->lut16(op.count, reinterpret_cast<const std::int16_t*>(op.x.at(context)),
                    reinterpret_cast<std::int16_t*>(context.data[op.y]),
                    reinterpret_cast<const std::int16_t*>(op.table), op.entries, op.linear, op.rounding);
}

void run_float_clip(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundUnary&>(self);
  const auto* x = reinterpret_cast<const float*>(op.x.at(context));
  auto* y = reinterpret_cast<float*>(context.data[op.y]);
  // NaN passes.
  for (std::size_t i = 0; i < op.count; ++i)
    y[i] = x[i] < op.low_value ? op.low_value : x[i] > op.high_value ? op.high_value : x[i];
}

Status same_shape(const Model& model, const fb::Operator& op) noexcept {
  return expect_shape(output(model, op).shape, input(model, op, 0).shape, "the output");
}

Status check_integers(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_TRY(check_quantized(input(model, op, 0), "the input"));
  RUNNEL_TRY(check_quantized(output(model, op), "the output"));
  return same_shape(model, op);
}

Result<BoundUnary*> bind(PrepareContext& context,
                         void (*run)(const BoundOperator&, const RunContext&) noexcept) noexcept {
  const fb::Operator& op = context.op();
  RUNNEL_ASSIGN(BoundUnary* const bound, allocate<BoundUnary>(context, run));
  bound->kernels = &kernels::elementwise(context.isa());
  context.chose_kernel({vector_level(context.isa()), ""});
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->count = static_cast<std::size_t>(context.shape(output_index(op)).elements());
  bound->from = input(context.model(), op, 0).dtype;
  bound->to = output(context.model(), op).dtype;
  bound->rounding = rounding_of(op);
  return bound;
}

// ---- integers to integers of another scale or width, clamped
// ------------------------------------------------------------

// Integers on both sides, or float32 on both sides.
Status check_clamped(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  if (input(model, op, 0).dtype != DType::float32) return check_integers(model, op);
  RUNNEL_TRY(check_number(output(model, op), true, "the output"));
  return same_shape(model, op);
}
Status check_relu(const Model& model, const fb::Operator& op) noexcept { return check_clamped(model, op); }
Status check_requantize(const Model& model, const fb::Operator& op) noexcept {
  return check_integers(model, op);
}
Status check_clip(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_ASSIGN(const fb::ClipOptions* const o, options<fb::ClipOptions>(op));
  if (o->low() > o->high())
    return Status(Code::invalid_data)
           << "clips to " << o->low() << " .. " << o->high() << ", expected low <= high";
  RUNNEL_TRY(check_clamped(model, op));
  if (input(model, op, 0).dtype == DType::float32 && !(o->low_value() <= o->high_value())) {
    return Status(Code::invalid_data) << "its float32 bounds are the wrong way round or not numbers";
  }
  return {};
}

Result<const BoundOperator*> bind_requantize(PrepareContext& context, std::int32_t low,
                                             std::int32_t high) noexcept {
  RUNNEL_ASSIGN(BoundUnary* const bound, bind(context, run_requantize));
  bound->shift =
      output(context.model(), context.op()).exponent() - input(context.model(), context.op(), 0).exponent();
  activation_range(bound->to, 0, Activation::none, bound->low, bound->high);
  bound->low = std::max(bound->low, low);
  bound->high = std::min(bound->high, high);
  return static_cast<const BoundOperator*>(bound);
}
Result<const BoundOperator*> bind_float_clip(PrepareContext& context, float low, float high) noexcept {
  RUNNEL_ASSIGN(BoundUnary* const bound, bind(context, run_float_clip));
  bound->low_value = low;
  bound->high_value = high;
  return static_cast<const BoundOperator*>(bound);
}
bool on_floats(PrepareContext& context) noexcept {
  return input(context.model(), context.op(), 0).dtype == DType::float32;
}
Result<const BoundOperator*> prepare_relu(PrepareContext& context) noexcept {
  return on_floats(context) ? bind_float_clip(context, 0, __builtin_inff())
                            : bind_requantize(context, 0, 32767);
}
Result<const BoundOperator*> prepare_requantize(PrepareContext& context) noexcept {
  return bind_requantize(context, -32768, 32767);
}
Result<const BoundOperator*> prepare_clip(PrepareContext& context) noexcept {
  const fb::ClipOptions& o = *context.op().options_as_ClipOptions();
  return on_floats(context) ? bind_float_clip(context, o.low_value(), o.high_value())
                            : bind_requantize(context, o.low(), o.high());
}

// ---- between float and integers
// -------------------------------------------------------------------------------------------

Status check_quantize(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  if (input(model, op, 0).dtype != DType::float32)
    return Status(Code::unsupported) << "the input is not float32";
  RUNNEL_TRY(check_quantized(output(model, op), "the output"));
  return same_shape(model, op);
}
Status check_dequantize(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  if (output(model, op).dtype != DType::float32)
    return Status(Code::unsupported) << "the output is not float32";
  RUNNEL_TRY(check_quantized(input(model, op, 0), "the input"));
  return same_shape(model, op);
}
Result<const BoundOperator*> prepare_quantize(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundUnary* const bound, bind(context, run_quantize));
  bound->shift = output(context.model(), context.op()).exponent();
  return static_cast<const BoundOperator*>(bound);
}
Result<const BoundOperator*> prepare_dequantize(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundUnary* const bound, bind(context, run_dequantize));
  bound->shift = input(context.model(), context.op(), 0).exponent();
  return static_cast<const BoundOperator*>(bound);
}

// ---- tables
// ----------------------------------------------------------------------------------------------------------------

// Either side has a power-of-two scale, or any scale and zero point: the table knows them.
Status check_lut_side(const TensorView& tensor, std::string_view what) noexcept {
  return tensor.scales.empty() ? check_quantized(tensor, what) : check_affine(tensor, false, what);
}
Status check_lut(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(options<fb::LutOptions>(op).status());
  RUNNEL_TRY(check_operands(op, 2, 2));
  const TensorView x = input(model, op, 0), table = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_lut_side(x, "the input"));
  RUNNEL_TRY(check_lut_side(y, "the output"));
  RUNNEL_TRY(same_shape(model, op));
  if (x.dtype != y.dtype)
    return Status(Code::unsupported) << "a table from " << name_of(x.dtype) << " to " << name_of(y.dtype)
                                     << ", expected one type";
  if (!table.constant || table.dtype != y.dtype)
    return Status(Code::invalid_data) << "the table is not a constant " << name_of(y.dtype);
  const std::int64_t entries = table.shape.elements();
  if (x.dtype == DType::int8 && entries != 256)
    return Status(Code::invalid_data) << "a table of " << entries << " entries, expected 256";
  if (x.dtype == DType::int16 && (entries < 2 || entries > 65537 || ((entries - 1) & (entries - 2)) != 0)) {
    return Status(Code::invalid_data)
           << "a table of " << entries << " entries, expected a power of two and one, at most 65537";
  }
  if (!table.exponents.empty() && table.exponent() != y.exponent()) {
    return Status(Code::invalid_data)
           << "table exponent " << table.exponent() << ", expected the output's " << y.exponent();
  }
  return {};
}
Result<const BoundOperator*> prepare_lut(PrepareContext& context) noexcept {
  const TensorView table = input(context.model(), context.op(), 1);
  RUNNEL_ASSIGN(BoundUnary* const bound, bind(context, table.dtype == DType::int8 ? run_lut8 : run_lut16));
  bound->table = table.data.data();
  RUNNEL_TRY(context.read_constant(input_index(context.op(), 1), &bound->table));
  bound->entries = static_cast<std::int32_t>(table.shape.elements());
  bound->linear = context.op().options_as_LutOptions()->linear();
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kRelu{OpCode::relu,     Arithmetic::espdl, "relu",           check_relu,
                               stream_pointwise, prepare_relu,      InPlace::elements};
const OperatorDefinition kClip{OpCode::clip,     Arithmetic::espdl, "clip",           check_clip,
                               stream_pointwise, prepare_clip,      InPlace::elements};
const OperatorDefinition kRequantize{OpCode::requantize, Arithmetic::espdl, "requantize",
                                     check_requantize,   stream_pointwise,  prepare_requantize,
                                     InPlace::elements};
const OperatorDefinition kQuantize{OpCode::quantize, Arithmetic::espdl, "quantize",
                                   check_quantize,   stream_pointwise,  prepare_quantize};
const OperatorDefinition kDequantize{OpCode::dequantize, Arithmetic::espdl, "dequantize",
                                     check_dequantize,   stream_pointwise,  prepare_dequantize};
const OperatorDefinition kLut{OpCode::lut, Arithmetic::espdl, "lut", check_lut, stream_pointwise,
                              prepare_lut, InPlace::elements};

}  // namespace runnel::ops
