// Operators that move the data of one tensor: reshape, transpose, slice. Where input and output have
// different exponents, the integers are requantized on the way (round, saturate).
#include "kernels/movement.h"

#include <algorithm>
#include <cstring>

#include "inference/ops/definitions.h"
#include "inference/ops/movement/bound_movement.h"

namespace runnel::ops {
namespace {

// ---- reshape, and whatever else moves nothing
// ---------------------------------------------------------------------------------------------------------------

void run_copy(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundCopy&>(self);
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  if (op.rescale.needed()) {
    op.rescale(op.count, x, y);
  } else if (x != y) {
    std::memcpy(y, x, op.bytes);
  }
}

Status check_reshape(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  if (x.shape.elements() != y.shape.elements()) {
    return Status(Code::invalid_data)
           << "reshapes " << x.shape.elements() << " elements into " << y.shape.elements();
  }
  return {};
}

// Time survives where the output has an axis with the same number of elements before it, in it, and
// after it. An axis that is shorter by a factor holds stacked frames, a longer one frames taken apart.
Status stream_reshape(const Model& model, const fb::Operator& op, TimeAxes axes,
                      streaming::NodeRule& rule) noexcept {
  const Shape x = input(model, op, 0).shape, y = output(model, op).shape;
  const int axis = axes[0];
  for (int k = 0; k < y.rank; ++k) {
    if (y[k] == x[axis] && y.product(0, k) == x.product(0, axis)) {
      axes.back() = static_cast<std::int8_t>(k);
      return {};
    }
  }
  for (int k = 0; k < y.rank && x.product(0, axis) == 1; ++k) {
    if (y.product(0, k) != 1) break;
    // All frames of the clip as one, or single numbers as frames: a dense layer over time rather than a rate.
    const bool stacks = y[k] > 1 && x[axis] % y[k] == 0,
               parts = y[k] % x[axis] == 0 && x[axis] > 1 && y.product(k + 1, y.rank) > 1;
    if (!stacks && !parts) continue;
    rule.kind = stacks ? streaming::Kind::window : streaming::Kind::upsample;
    rule.kernel = rule.stride = stacks ? x[axis] / y[k] : y[k] / x[axis];
    axes.back() = static_cast<std::int8_t>(k);
    return {};
  }
  return Status(Code::unsupported) << "mixes time (axis " << axis
                                   << ") into another axis; a dense layer over time can be one over a window "
                                      "of frames (import --pool-window N)";
}

// The bytes of the input are those of the output.
Result<BoundCopy*> bind_copy(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  RUNNEL_ASSIGN(BoundCopy* const bound, allocate<BoundCopy>(context, run_copy));
  const TensorView x = input(context.model(), op, 0), y = output(context.model(), op);
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->count = static_cast<std::size_t>(context.shape(bound->y).elements());
  bound->bytes = bound->count * size_of(y.dtype);
  bound->rescale = rescale(context, x, y);
  return bound;
}
Result<const BoundOperator*> prepare_reshape(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(const BoundOperator* const bound, bind_copy(context));
  return bound;
}

// ---- transpose and slice
// ------------------------------------------------------------------------------------------------------

void finish_move(const BoundMove& op, std::byte* y) noexcept {
  if (op.rescale.needed()) op.rescale(op.count, y, y);
}
}  // namespace

void run_transpose(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundMove&>(self);
  std::byte* y = context.data[op.y];
  kernels::transpose(op.element, op.rank, op.x_dims, {op.perm, static_cast<std::size_t>(op.rank)},
                     op.x.at(context), y);
  finish_move(op, y);
}
void run_slice(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundMove&>(self);
  std::byte* y = context.data[op.y];
  kernels::slice(op.element, op.rank, op.x_dims, op.begin, op.step, op.y_dims, op.x.at(context), y);
  finish_move(op, y);
}

namespace {

Result<BoundMove*> bind_move(PrepareContext& context,
                             void (*run)(const BoundOperator&, const RunContext&) noexcept) noexcept {
  const fb::Operator& op = context.op();
  RUNNEL_ASSIGN(BoundMove* const bound, allocate<BoundMove>(context, run));
  const TensorView x = input(context.model(), op, 0), y = output(context.model(), op);
  const Shape from = context.shape(input_index(op, 0)), to = context.shape(output_index(op));
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->element = size_of(x.dtype);
  bound->count = static_cast<std::size_t>(to.elements());
  bound->rank = from.rank;
  bound->x_dims = dims_of(from);
  bound->y_dims = dims_of(to);
  bound->rescale = rescale(context, x, y);
  return bound;
}

Status check_transpose(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::TransposeOptions* const o, options<fb::TransposeOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  if (o->perm() == nullptr || static_cast<int>(o->perm()->size()) != x.shape.rank)
    return Status(Code::invalid_data) << "a permutation that is not of rank " << x.shape.rank;
  Shape expected;
  expected.rank = x.shape.rank;
  unsigned seen = 0;
  for (int axis = 0; axis < x.shape.rank; ++axis) {
    const int from = o->perm()->Get(static_cast<std::uint32_t>(axis));
    if (from >= x.shape.rank || (seen & (1u << from)) != 0)
      return Status(Code::invalid_data) << "entry " << axis << " of its permutation is " << from;
    seen |= 1u << from;
    expected[axis] = x.shape[from];
  }
  return expect_shape(y.shape, expected, "the output");
}
Status stream_transpose(const Model&, const fb::Operator& op, TimeAxes axes, streaming::NodeRule&) noexcept {
  const auto& perm = *op.options_as_TransposeOptions()->perm();
  for (std::uint32_t axis = 0; axis < perm.size(); ++axis) {
    if (perm.Get(axis) == axes[0]) axes.back() = static_cast<std::int8_t>(axis);
  }
  return {};
}
// Axes of one element may go anywhere: a frame of channels by time is one of time by channels.
bool keeps_order(const Shape& x, const flatbuffers::Vector<std::uint8_t>& perm) noexcept {
  int last = -1;
  for (const std::uint8_t axis : perm) {
    if (x[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}
Result<const BoundOperator*> prepare_transpose(PrepareContext& context) noexcept {
  if (keeps_order(context.shape(input_index(context.op(), 0)),
                  *context.op().options_as_TransposeOptions()->perm())) {
    RUNNEL_ASSIGN(BoundCopy* const bound, bind_copy(context));
    bound->keeps_bytes = true;
    return static_cast<const BoundOperator*>(bound);
  }
  RUNNEL_ASSIGN(BoundMove* const bound, bind_move(context, run_transpose));
  const auto& perm = *context.op().options_as_TransposeOptions()->perm();
  for (std::uint32_t axis = 0; axis < perm.size(); ++axis) bound->perm[axis] = perm.Get(axis);
  return static_cast<const BoundOperator*>(bound);
}

Status check_slice(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::SliceOptions* const o, options<fb::SliceOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  const auto rank = static_cast<std::uint32_t>(x.shape.rank);
  if (y.shape.rank != x.shape.rank || o->begin() == nullptr || o->step() == nullptr ||
      o->begin()->size() != rank || o->step()->size() != rank) {
    return Status(Code::invalid_data) << "begin, step and output are not all of rank " << rank;
  }
  for (int axis = 0; axis < x.shape.rank; ++axis) {
    const std::int64_t begin = o->begin()->Get(static_cast<std::uint32_t>(axis)),
                       step = o->step()->Get(static_cast<std::uint32_t>(axis));
    const std::int64_t last = begin + step * (y.shape[axis] - 1);
    if (step == 0 || begin < 0 || begin >= x.shape[axis] || last < 0 || last >= x.shape[axis]) {
      return Status(Code::invalid_data)
             << "on axis " << axis << " it reads " << begin << " to " << last << " of " << x.shape[axis];
    }
  }
  return {};
}
Status stream_slice(const Model& model, const fb::Operator& op, TimeAxes axes,
                    streaming::NodeRule& rule) noexcept {
  const fb::SliceOptions& o = *op.options_as_SliceOptions();
  const Shape x = input(model, op, 0).shape, y = output(model, op).shape;
  const int axis = axes[0];
  axes.back() = static_cast<std::int8_t>(axis);
  const std::int64_t begin = o.begin()->Get(static_cast<std::uint32_t>(axis)),
                     step = o.step()->Get(static_cast<std::uint32_t>(axis));
  if (begin == 0 && step == 1 && y[axis] == x[axis]) return {};
  if (step < 0) return Status(Code::unsupported) << "reverses time";
  rule.kind = streaming::Kind::window;
  rule.stride = step;
  rule.left = -begin;
  // What is cut off at the end: nothing when the slice takes all it can.
  const std::int64_t most = (x[axis] - begin - 1) / step + 1;
  rule.right = y[axis] == most ? 0 : -(x[axis] - (begin + (y[axis] - 1) * step + 1));
  return {};
}
Result<const BoundOperator*> prepare_slice(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundMove* const bound, bind_move(context, run_slice));
  const fb::SliceOptions& o = *context.op().options_as_SliceOptions();
  for (int axis = 0; axis < bound->rank; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    bound->begin[i] = o.begin()->Get(static_cast<std::uint32_t>(axis));
    bound->step[i] = o.step()->Get(static_cast<std::uint32_t>(axis));
  }
  const int time = context.time_axis(input_index(context.op(), 0));
  if (time >= 0) {
    const TimeWindow window = context.window(0);
    bound->x_dims[static_cast<std::size_t>(time)] = static_cast<std::int32_t>(window.frames);
    // A streamed window starts where the slice does; a whole clip is cropped by its negative padding.
    bound->begin[static_cast<std::size_t>(time)] = static_cast<std::int32_t>(-window.pad);
  }
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kReshape{OpCode::reshape, Arithmetic::espdl, "reshape",    check_reshape,
                                  stream_reshape,  prepare_reshape,   InPlace::view};
const OperatorDefinition kTranspose{OpCode::transpose, Arithmetic::espdl, "transpose",
                                    check_transpose,   stream_transpose,  prepare_transpose};
const OperatorDefinition kSlice{OpCode::slice, Arithmetic::espdl, "slice",
                                check_slice,   stream_slice,      prepare_slice};

}  // namespace runnel::ops
