// Where, cast, logical not, arg_max and top_k.
#include "inference/ops/binary/broadcast.h"
#include "inference/ops/definitions.h"
#include "inference/ops/support.h"
#include "kernels/arithmetic/arithmetic.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/select.h"

namespace runnel::ops {
namespace {

// ---- where: condition, a, b
// ---------------------------------------------------------------------------------------------------

struct BoundWhere : BoundOperator {
  const kernels::Elementwise* kernels = nullptr;
  kernels::ChoiceSpec spec;  // of one call
  Broadcast<3> broadcast;
  Operand condition;
  // Integers whose exponent is not the output's are moved there first, in scratch memory.
  struct Side {
    Operand x;
    std::size_t count = 0, scratch = 0;
    int shift = 0;
  } sides[2];
  std::int32_t y = -1;
  DType dtype = DType::none;
  kernels::Rounding rounding = kernels::Rounding::half_up;
};

void run_where(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundWhere&>(self);
  const auto source = [&](const BoundWhere::Side& side) -> const std::byte* {
    if (side.shift == 0) return side.x.at(context);
    const bool narrow = op.dtype == DType::int8;
    op.kernels->requantize(op.dtype, op.dtype, side.count, side.x.at(context), context.scratch + side.scratch,
                           side.shift, op.rounding, narrow ? -128 : -32768, narrow ? 127 : 32767);
    return context.scratch + side.scratch;
  };
  op.broadcast.run({op.condition.at(context), source(op.sides[0]), source(op.sides[1])}, context.data[op.y],
                   [&](const auto& x, std::byte* y) {
                     kernels::choose(op.spec, reinterpret_cast<const std::uint8_t*>(x[0]), x[1], x[2], y);
                   });
}

Status check_where(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 3, 3));
  const TensorView condition = input(model, op, 0), y = output(model, op);
  if (condition.dtype != DType::boolean)
    return Status(Code::unsupported) << "the condition is " << name_of(condition.dtype) << ", expected bool";
  for (const int side : {1, 2}) {
    const TensorView x = input(model, op, side);
    if (x.dtype != y.dtype)
      return Status(Code::unsupported) << "input " << side << " is " << name_of(x.dtype) << ", output "
                                       << name_of(y.dtype) << ", expected one type";
    if (is_integer(x.dtype)) {
      RUNNEL_TRY(check_quantized(x, "an input"));
      RUNNEL_TRY(check_quantized(y, "the output"));
    }
  }
  const Shape shapes[] = {condition.shape, input(model, op, 1).shape, input(model, op, 2).shape};
  RUNNEL_ASSIGN(const Shape expected, broadcast_shape(shapes));
  return expect_shape(y.shape, expected, "the output");
}

Result<const BoundOperator*> prepare_where(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const TensorView y = output(context.model(), op);
  RUNNEL_ASSIGN(BoundWhere* const bound, allocate<BoundWhere>(context, run_where));
  bound->kernels = &kernels::elementwise(context.isa());
  bound->condition = operand(context, 0);
  bound->y = output_index(op);
  bound->dtype = y.dtype;
  bound->rounding = rounding_of(op);
  const std::size_t element = size_of(y.dtype);
  std::size_t scratch = 0;
  for (int i = 0; i < 2; ++i) {
    BoundWhere::Side& side = bound->sides[i];
    side.x = operand(context, i + 1);
    side.count = static_cast<std::size_t>(context.shape(input_index(op, i + 1)).elements());
    if (is_integer(y.dtype)) side.shift = y.exponent() - input(context.model(), op, i + 1).exponent();
    if (side.shift == 0) continue;
    side.scratch = scratch;
    scratch += (side.count * element + 63) / 64 * 64;
  }
  if (scratch > 0) context.request_scratch(scratch);
  bound->broadcast = plan_broadcast<3>(context.shape(output_index(op)),
                                       {context.shape(input_index(op, 0)), context.shape(input_index(op, 1)),
                                        context.shape(input_index(op, 2))},
                                       {1, element, element}, element);
  bound->spec = {element, bound->broadcast.count, bound->broadcast.counts[0], bound->broadcast.counts[1],
                 bound->broadcast.counts[2]};
  return static_cast<const BoundOperator*>(bound);
}

// ---- cast and logical not
// --------------------------------------------------------------------------------------------------------

struct BoundCast : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  std::size_t count = 0;
  DType from = DType::none, to = DType::none;
};

void run_cast(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundCast&>(self);
  kernels::cast(op.from, op.to, op.count, op.x.at(context), context.data[op.y]);
}
void run_not(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundCast&>(self);
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  for (std::size_t i = 0; i < op.count; ++i) y[i] = x[i] == std::byte{0} ? std::byte{1} : std::byte{0};
}

Status check_cast(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  const TensorView x = input(model, op, 0), y = output(model, op);
  const auto plain = [](const TensorView& tensor) {
    return tensor.exponent() == 0 && tensor.scales.empty() && tensor.zero_point() == 0;
  };
  if (!plain(y) || (!plain(x) && y.dtype != DType::boolean)) {
    return Status(Code::unsupported) << "casts plain numbers only, and one side has a scale; quantize, "
                                        "dequantize and requantize change scales";
  }
  return expect_shape(y.shape, x.shape, "the output");
}
Status check_not(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  const TensorView x = input(model, op, 0), y = output(model, op);
  if (x.dtype != DType::boolean || y.dtype != DType::boolean) {
    return Status(Code::unsupported) << "input " << name_of(x.dtype) << ", output " << name_of(y.dtype)
                                     << ", expected bool";
  }
  return expect_shape(y.shape, x.shape, "the output");
}
Result<const BoundOperator*> bind_cast(PrepareContext& context,
                                       void (*run)(const BoundOperator&,
                                                   const RunContext&) noexcept) noexcept {
  RUNNEL_ASSIGN(BoundCast* const bound, allocate<BoundCast>(context, run));
  bound->x = operand(context, 0);
  bound->y = output_index(context.op());
  bound->count = static_cast<std::size_t>(context.shape(bound->y).elements());
  bound->from = input(context.model(), context.op(), 0).dtype;
  bound->to = output(context.model(), context.op()).dtype;
  return static_cast<const BoundOperator*>(bound);
}
Result<const BoundOperator*> prepare_cast(PrepareContext& context) noexcept {
  return bind_cast(context, run_cast);
}
Result<const BoundOperator*> prepare_not(PrepareContext& context) noexcept {
  return bind_cast(context, run_not);
}

// ---- arg_max (output: indices, the axis kept as 1) and top_k (outputs: values, indices)
// -----------------------------------------------

struct BoundSelect : BoundOperator {
  kernels::SelectSpec spec;
  Operand x;
  std::int32_t values = -1, indices = -1;
};

void run_select(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundSelect&>(self);
  kernels::select_best(op.spec, op.x.at(context), op.values < 0 ? nullptr : context.data[op.values],
                       context.data[op.indices], reinterpret_cast<std::int32_t*>(context.scratch));
}

Status check_selection(const TensorView& x, const TensorView& indices, int axis) noexcept {
  if (x.dtype != DType::int32) RUNNEL_TRY(check_number(x, "the input"));
  if (indices.dtype != DType::int32 && indices.dtype != DType::int64) {
    return Status(Code::unsupported) << "the indices are " << name_of(indices.dtype)
                                     << ", expected int32 or int64";
  }
  if (axis < 0 || axis >= x.shape.rank)
    return Status(Code::invalid_data) << "axis " << axis << ", expected 0 to " << x.shape.rank - 1;
  return {};
}
Status check_arg_max(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::AxisOptions* const o, options<fb::AxisOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_selection(x, y, o->axis()));
  Shape expected = x.shape;
  expected[o->axis()] = 1;
  return expect_shape(y.shape, expected, "the output");
}
Status check_top_k(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1, 2));
  RUNNEL_ASSIGN(const fb::TopKOptions* const o, options<fb::TopKOptions>(op));
  const TensorView x = input(model, op, 0), values = output(model, op, 0), indices = output(model, op, 1);
  RUNNEL_TRY(check_selection(x, indices, o->axis()));
  if (values.dtype != x.dtype || values.exponent() != x.exponent()) {
    return Status(Code::unsupported) << "values " << name_of(values.dtype) << " with exponent "
                                     << values.exponent() << ", expected those of the input, "
                                     << name_of(x.dtype) << " and " << x.exponent();
  }
  Shape expected = x.shape;
  const std::int32_t k = values.shape.rank == x.shape.rank ? values.shape[o->axis()] : 0;
  if (k < 1 || k > x.shape[o->axis()])
    return Status(Code::invalid_data) << "takes " << k << " of " << x.shape[o->axis()] << " elements";
  expected[o->axis()] = k;
  RUNNEL_TRY(expect_shape(values.shape, expected, "the values' output"));
  return expect_shape(indices.shape, expected, "the indices' output");
}

Status stream_selection(int axis, TimeAxes axes) noexcept {
  if (axes[0] == axis)
    return Status(Code::unsupported)
           << "searches the whole recording; give it a window of frames, or run the model in usage `window`";
  for (std::size_t i = 1; i < axes.size(); ++i) axes[i] = axes[0];
  return {};
}
Status stream_arg_max(const Model&, const fb::Operator& op, TimeAxes axes, streaming::NodeRule&) noexcept {
  return stream_selection(op.options_as_AxisOptions()->axis(), axes);
}
Status stream_top_k(const Model&, const fb::Operator& op, TimeAxes axes, streaming::NodeRule&) noexcept {
  return stream_selection(op.options_as_TopKOptions()->axis(), axes);
}

Result<const BoundOperator*> bind_selection(PrepareContext& context, int axis, int indices,
                                            bool smallest) noexcept {
  const fb::Operator& op = context.op();
  RUNNEL_ASSIGN(BoundSelect* const bound, allocate<BoundSelect>(context, run_select));
  const Shape x = context.shape(input_index(op, 0));
  bound->x = operand(context, 0);
  bound->values = indices == 0 ? -1 : output_index(op, 0);
  bound->indices = output_index(op, indices);
  kernels::SelectSpec& spec = bound->spec;
  spec.dtype = input(context.model(), op, 0).dtype;
  spec.index = output(context.model(), op, indices).dtype;
  spec.smallest = smallest;
  spec.outer = static_cast<std::size_t>(x.product(0, axis));
  spec.count = static_cast<std::size_t>(x[axis]);
  spec.inner = static_cast<std::size_t>(x.product(axis + 1, x.rank));
  spec.k = static_cast<std::size_t>(context.shape(bound->indices)[axis]);
  context.request_scratch(spec.k * sizeof(std::int32_t));
  return static_cast<const BoundOperator*>(bound);
}
Result<const BoundOperator*> prepare_arg_max(PrepareContext& context) noexcept {
  return bind_selection(context, context.op().options_as_AxisOptions()->axis(), 0, false);
}
Result<const BoundOperator*> prepare_top_k(PrepareContext& context) noexcept {
  const fb::TopKOptions& o = *context.op().options_as_TopKOptions();
  return bind_selection(context, o.axis(), 1, o.smallest());
}

}  // namespace

const OperatorDefinition kWhere{OpCode::where,    Arithmetic::espdl, "where",          check_where,
                                stream_broadcast, prepare_where,     InPlace::elements};
const OperatorDefinition kCast{OpCode::cast, Arithmetic::espdl, "cast",
                               check_cast,   stream_pointwise,  prepare_cast};
const OperatorDefinition kLogicalNot{OpCode::logical_not, Arithmetic::espdl, "logical_not",    check_not,
                                     stream_pointwise,    prepare_not,       InPlace::elements};
const OperatorDefinition kArgMax{OpCode::arg_max, Arithmetic::espdl, "arg_max",
                                 check_arg_max,   stream_arg_max,    prepare_arg_max};
const OperatorDefinition kTopK{OpCode::top_k, Arithmetic::espdl, "top_k",
                               check_top_k,   stream_top_k,      prepare_top_k};

}  // namespace runnel::ops
