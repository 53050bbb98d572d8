// Concatenation and its reverse, with a change of exponent where parts and whole have different ones.
#include <algorithm>
#include <cstring>

#include "inference/ops/definitions.h"
#include "inference/ops/movement/bound_movement.h"

namespace runnel::ops {

void run_concat(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundParts&>(self);
  for (std::int32_t i = 0; i < op.count; ++i) {
    const Part& part = op.parts[i];
    const void* x = part.x.at(context);
    if (part.rescale.needed()) {
      part.rescale(part.count, x, context.scratch);
      x = context.scratch;
    }
    kernels::concat_into(op.element, op.rank, op.axis, part.dims, op.dims, part.offset, x,
                         context.data[op.y]);
  }
}
void run_split(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundParts&>(self);
  kernels::Dims step;
  step.fill(1);
  for (std::int32_t i = 0; i < op.count; ++i) {
    const Part& part = op.parts[i];
    kernels::Dims begin{};
    begin[static_cast<std::size_t>(op.axis)] = part.offset;
    std::byte* y = context.data[part.tensor];
    kernels::slice(op.element, op.rank, op.dims, begin, step, part.dims, op.x.at(context), y);
    if (part.rescale.needed()) part.rescale(part.count, y, y);
  }
}

namespace {

Result<int> axis_of(const fb::Operator& op, int rank) noexcept {
  RUNNEL_ASSIGN(const fb::AxisOptions* const o, options<fb::AxisOptions>(op));
  if (o->axis() < 0 || o->axis() >= rank)
    return Status(Code::invalid_data) << "axis " << o->axis() << ", expected 0 to " << rank - 1;
  return o->axis();
}

// The parts have the whole's shape but along `axis`, where their sizes add up to it.
Status check_part(const Shape& part, const Shape& whole, int axis, std::int64_t& sum) noexcept {
  Shape expected = whole;
  expected[axis] = part.rank > axis ? part[axis] : 0;
  RUNNEL_TRY(expect_shape(part, expected, "a part"));
  sum += part[axis];
  return {};
}

Status check_concat(const Model& model, const fb::Operator& op) noexcept {
  const int count = static_cast<int>(op.inputs()->size());
  RUNNEL_TRY(check_operands(op, std::max(1, count), std::max(1, count)));
  const TensorView y = output(model, op);
  RUNNEL_ASSIGN(const int axis, axis_of(op, y.shape.rank));
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    RUNNEL_TRY(check_moved(input(model, op, i), y));
    RUNNEL_TRY(check_part(input(model, op, i).shape, y.shape, axis, sum));
  }
  if (sum != y.shape[axis])
    return Status(Code::invalid_data)
           << "parts of " << sum << " along axis " << axis << ", expected " << y.shape[axis];
  return {};
}
Status check_split(const Model& model, const fb::Operator& op) noexcept {
  const int count = static_cast<int>(op.outputs()->size());
  RUNNEL_TRY(check_operands(op, 1, 1, count));
  const TensorView x = input(model, op, 0);
  RUNNEL_ASSIGN(const int axis, axis_of(op, x.shape.rank));
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    RUNNEL_TRY(check_moved(x, output(model, op, i)));
    RUNNEL_TRY(check_part(output(model, op, i).shape, x.shape, axis, sum));
  }
  if (sum != x.shape[axis])
    return Status(Code::invalid_data)
           << "parts of " << sum << " along axis " << axis << ", expected " << x.shape[axis];
  return {};
}
Status stream_parts(const Model& model, const fb::Operator& op, TimeAxes axes,
                    streaming::NodeRule& rule) noexcept {
  RUNNEL_TRY(stream_pointwise(model, op, axes, rule));
  if (axes.back() == op.options_as_AxisOptions()->axis())
    return Status(Code::unsupported) << "joins or cuts pieces along time";
  const auto inputs = static_cast<int>(op.inputs()->size());
  for (int i = 0; i < inputs; ++i) {
    if (axes[static_cast<std::size_t>(i)] < 0)
      return Status(Code::unsupported) << "puts a constant of a fixed number of frames beside a stream";
  }
  return {};
}

// `parts`: of the bound operator, to be filled.
Result<BoundParts*> bind_parts(PrepareContext& context, int whole, std::size_t count,
                               void (*run)(const BoundOperator&, const RunContext&) noexcept,
                               Part*& parts) noexcept {
  RUNNEL_ASSIGN(BoundParts* const bound, allocate<BoundParts>(context, run));
  const Shape shape = context.shape(whole);
  bound->element = size_of(context.model().tensor(whole).dtype);
  bound->rank = shape.rank;
  bound->axis = context.op().options_as_AxisOptions()->axis();
  bound->dims = dims_of(shape);
  bound->count = static_cast<std::int32_t>(count);
  bound->parts = parts = context.memory().array<Part>(count);
  if (parts == nullptr) return Status(Code::out_of_memory) << "no memory for its " << count << " parts";
  return bound;
}
Result<const BoundOperator*> prepare_concat(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  Part* parts = nullptr;
  RUNNEL_ASSIGN(BoundParts* const bound,
                bind_parts(context, output_index(op), op.inputs()->size(), run_concat, parts));
  bound->y = output_index(op);
  std::int32_t offset = 0;
  for (int i = 0; i < bound->count; ++i) {
    Part& part = parts[i];
    const Shape shape = context.shape(input_index(op, i));
    part.x = operand(context, i);
    part.dims = dims_of(shape);
    part.offset = offset;
    part.count = static_cast<std::size_t>(shape.elements());
    part.rescale = rescale(context, input(context.model(), op, i), output(context.model(), op));
    if (part.rescale.needed()) context.request_scratch(part.count * bound->element);
    offset += shape[bound->axis];
  }
  return static_cast<const BoundOperator*>(bound);
}
Result<const BoundOperator*> prepare_split(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  Part* parts = nullptr;
  RUNNEL_ASSIGN(BoundParts* const bound,
                bind_parts(context, input_index(op, 0), op.outputs()->size(), run_split, parts));
  bound->x = operand(context, 0);
  std::int32_t offset = 0;
  for (int i = 0; i < bound->count; ++i) {
    Part& part = parts[i];
    part.tensor = output_index(op, i);
    const Shape shape = context.shape(part.tensor);
    part.dims = dims_of(shape);
    part.offset = offset;
    part.count = static_cast<std::size_t>(shape.elements());
    part.rescale = rescale(context, input(context.model(), op, 0), output(context.model(), op, i));
    offset += shape[bound->axis];
  }
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kConcat{OpCode::concat, Arithmetic::espdl, "concat",
                                 check_concat,   stream_parts,      prepare_concat};
const OperatorDefinition kSplit{OpCode::split, Arithmetic::espdl, "split",
                                check_split,   stream_parts,      prepare_split};

}  // namespace runnel::ops
