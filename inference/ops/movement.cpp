// Operators that move data: reshape, transpose, slice, concatenate, split, pad. Where input and output have different
// exponents, the integers are requantized on the way (round, saturate).
#include "kernels/movement.h"

#include <algorithm>
#include <cstring>

#include "inference/ops/definitions.h"
#include "inference/ops/rescale.h"
#include "inference/ops/support.h"

namespace runnel::ops {
namespace {

// ---- reshape ---------------------------------------------------------------------------------------------------------------

struct BoundReshape : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  std::size_t bytes = 0, count = 0;
  Rescale rescale;
};

void run_reshape(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundReshape&>(self);
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
    return Status(Code::invalid_data) << "reshapes " << x.shape.elements() << " elements into " << y.shape.elements();
  }
  return {};
}

// Time survives where the output has an axis with the same number of elements in front of it, in it, and behind it. An axis that is shorter by a
// factor holds stacked frames, a longer one frames taken apart.
Status stream_reshape(const Model& model, const fb::Operator& op, TimeAxes axes, streaming::NodeRule& rule) noexcept {
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
    const bool stacks = y[k] > 1 && x[axis] % y[k] == 0, parts = y[k] % x[axis] == 0 && x[axis] > 1 && y.product(k + 1, y.rank) > 1;
    if (!stacks && !parts) continue;
    rule.kind = stacks ? streaming::Kind::window : streaming::Kind::upsample;
    rule.kernel = rule.stride = stacks ? x[axis] / y[k] : y[k] / x[axis];
    axes.back() = static_cast<std::int8_t>(k);
    return {};
  }
  return Status(Code::unsupported) << "mixes time (axis " << axis << ") into another axis; a dense layer over time can be one over a window of frames (import --pool-window N)";
}

Result<const BoundOperator*> prepare_reshape(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  RUNNEL_ASSIGN(BoundReshape* const bound, allocate<BoundReshape>(context, run_reshape));
  const TensorView x = input(context.model(), op, 0), y = output(context.model(), op);
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->count = static_cast<std::size_t>(context.shape(bound->y).elements());
  bound->bytes = bound->count * size_of(y.dtype);
  bound->rescale = rescale(context, x, y);
  return static_cast<const BoundOperator*>(bound);
}

// ---- transpose and slice ------------------------------------------------------------------------------------------------------

struct BoundMove : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  std::size_t element = 1, count = 0;
  int rank = 0;
  kernels::Dims x_dims{}, y_dims{}, begin{}, step{};
  std::uint8_t perm[kMaxRank] = {};
  Rescale rescale;
};

void finish_move(const BoundMove& op, std::byte* y) noexcept {
  if (op.rescale.needed()) op.rescale(op.count, y, y);
}
void run_transpose(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundMove&>(self);
  std::byte* y = context.data[op.y];
  kernels::transpose(op.element, op.rank, op.x_dims, {op.perm, static_cast<std::size_t>(op.rank)}, op.x.at(context), y);
  finish_move(op, y);
}
void run_slice(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundMove&>(self);
  std::byte* y = context.data[op.y];
  kernels::slice(op.element, op.rank, op.x_dims, op.begin, op.step, op.y_dims, op.x.at(context), y);
  finish_move(op, y);
}

Result<BoundMove*> bind_move(PrepareContext& context, void (*run)(const BoundOperator&, const RunContext&) noexcept) noexcept {
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
  if (o->perm() == nullptr || static_cast<int>(o->perm()->size()) != x.shape.rank) return Status(Code::invalid_data) << "a permutation that is not of rank " << x.shape.rank;
  Shape expected;
  expected.rank = x.shape.rank;
  unsigned seen = 0;
  for (int axis = 0; axis < x.shape.rank; ++axis) {
    const int from = o->perm()->Get(static_cast<std::uint32_t>(axis));
    if (from >= x.shape.rank || (seen & (1u << from)) != 0) return Status(Code::invalid_data) << "entry " << axis << " of its permutation is " << from;
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
Result<const BoundOperator*> prepare_transpose(PrepareContext& context) noexcept {
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
  if (y.shape.rank != x.shape.rank || o->begin() == nullptr || o->step() == nullptr || o->begin()->size() != rank || o->step()->size() != rank) {
    return Status(Code::invalid_data) << "begin, step and output are not all of rank " << rank;
  }
  for (int axis = 0; axis < x.shape.rank; ++axis) {
    const std::int64_t begin = o->begin()->Get(static_cast<std::uint32_t>(axis)), step = o->step()->Get(static_cast<std::uint32_t>(axis));
    const std::int64_t last = begin + step * (y.shape[axis] - 1);
    if (step == 0 || begin < 0 || begin >= x.shape[axis] || last < 0 || last >= x.shape[axis]) {
      return Status(Code::invalid_data) << "on axis " << axis << " it reads " << begin << " to " << last << " of " << x.shape[axis];
    }
  }
  return {};
}
Status stream_slice(const Model& model, const fb::Operator& op, TimeAxes axes, streaming::NodeRule& rule) noexcept {
  const fb::SliceOptions& o = *op.options_as_SliceOptions();
  const Shape x = input(model, op, 0).shape, y = output(model, op).shape;
  const int axis = axes[0];
  axes.back() = static_cast<std::int8_t>(axis);
  const std::int64_t begin = o.begin()->Get(static_cast<std::uint32_t>(axis)), step = o.step()->Get(static_cast<std::uint32_t>(axis));
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

// ---- concatenate and split ------------------------------------------------------------------------------------------------------

struct Part {
  Operand x;                          // concat: the source; split: unused
  std::int32_t tensor = -1;           // split: the destination
  kernels::Dims dims{};
  std::int32_t offset = 0;
  std::size_t count = 0;
  Rescale rescale;
};
struct BoundParts : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  std::size_t element = 1;
  int rank = 0, axis = 0;
  kernels::Dims dims{};               // of the whole
  std::int32_t count = 0;
  Part* parts = nullptr;
};

void run_concat(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundParts&>(self);
  for (std::int32_t i = 0; i < op.count; ++i) {
    const Part& part = op.parts[i];
    const void* x = part.x.at(context);
    if (part.rescale.needed()) {
      part.rescale(part.count, x, context.scratch);
      x = context.scratch;
    }
    kernels::concat_into(op.element, op.rank, op.axis, part.dims, op.dims, part.offset, x, context.data[op.y]);
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

Result<int> axis_of(const fb::Operator& op, int rank) noexcept {
  RUNNEL_ASSIGN(const fb::AxisOptions* const o, options<fb::AxisOptions>(op));
  if (o->axis() < 0 || o->axis() >= rank) return Status(Code::invalid_data) << "axis " << o->axis() << ", expected 0 to " << rank - 1;
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
  if (sum != y.shape[axis]) return Status(Code::invalid_data) << "parts of " << sum << " along axis " << axis << ", expected " << y.shape[axis];
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
  if (sum != x.shape[axis]) return Status(Code::invalid_data) << "parts of " << sum << " along axis " << axis << ", expected " << x.shape[axis];
  return {};
}
Status stream_parts(const Model& model, const fb::Operator& op, TimeAxes axes, streaming::NodeRule& rule) noexcept {
  RUNNEL_TRY(stream_pointwise(model, op, axes, rule));
  if (axes.back() == op.options_as_AxisOptions()->axis()) return Status(Code::unsupported) << "joins or cuts pieces along time";
  const auto inputs = static_cast<int>(op.inputs()->size());
  for (int i = 0; i < inputs; ++i) {
    if (axes[static_cast<std::size_t>(i)] < 0) return Status(Code::unsupported) << "puts a constant of a fixed number of frames beside a stream";
  }
  return {};
}

Result<BoundParts*> bind_parts(PrepareContext& context, int whole, std::size_t count, void (*run)(const BoundOperator&, const RunContext&) noexcept) noexcept {
  RUNNEL_ASSIGN(BoundParts* const bound, allocate<BoundParts>(context, run));
  const Shape shape = context.shape(whole);
  bound->element = size_of(context.model().tensor(whole).dtype);
  bound->rank = shape.rank;
  bound->axis = context.op().options_as_AxisOptions()->axis();
  bound->dims = dims_of(shape);
  bound->count = static_cast<std::int32_t>(count);
  bound->parts = context.memory().array<Part>(count);
  if (bound->parts == nullptr) return Status(Code::out_of_memory) << "no memory for its " << count << " parts";
  return bound;
}
Result<const BoundOperator*> prepare_concat(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  RUNNEL_ASSIGN(BoundParts* const bound, bind_parts(context, output_index(op), op.inputs()->size(), run_concat));
  bound->y = output_index(op);
  std::int32_t offset = 0;
  for (int i = 0; i < bound->count; ++i) {
    Part& part = bound->parts[i];
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
  RUNNEL_ASSIGN(BoundParts* const bound, bind_parts(context, input_index(op, 0), op.outputs()->size(), run_split));
  bound->x = operand(context, 0);
  std::int32_t offset = 0;
  for (int i = 0; i < bound->count; ++i) {
    Part& part = bound->parts[i];
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

// ---- pad ------------------------------------------------------------------------------------------------------------------------

struct BoundPad : BoundOperator {
  Operand x;
  std::int32_t x_tensor = -1, y = -1;
  std::size_t element = 1, lines = 0;   // lines: of the output's last axis
  int rank = 0;
  kernels::Dims x_dims{}, y_dims{}, before{};
  std::int64_t value = 0;
  Rescale rescale;
  fb::PadMode mode = fb::PadMode::zero;
  bool over_time = false;               // streamed along time: frames by logical index
  std::int64_t back_frames = 0, frames = 0, frame_elements = 0;
};

// Where position `position` of a padded axis comes from.
std::size_t mirrored(fb::PadMode mode, std::int32_t position, std::int32_t size) noexcept {
  const std::int32_t last = size - 1;
  if (mode == fb::PadMode::edge) return static_cast<std::size_t>(std::clamp(position, 0, last));
  return static_cast<std::size_t>(position < 0 ? -position : position > last ? 2 * last - position : position);
}

// Reflecting and edge padding, line by line of the last axis: what is not padding is copied as one piece.
void pad_mirrored(const BoundPad& op, const std::byte* x, std::byte* y) noexcept {
  const auto inner = static_cast<std::size_t>(op.rank - 1);
  const std::int32_t size = op.x_dims[inner], before = op.before[inner], after = op.y_dims[inner] - size - before;
  kernels::Dims at{};
  for (std::size_t line = 0; line < op.lines; ++line) {
    std::size_t from = 0;
    for (std::size_t k = 0; k < inner; ++k) from = from * static_cast<std::size_t>(op.x_dims[k]) + mirrored(op.mode, at[k] - op.before[k], op.x_dims[k]);
    const std::byte* const row = x + from * static_cast<std::size_t>(size) * op.element;
    for (std::int32_t i = 0; i < before; ++i, y += op.element) std::memcpy(y, row + mirrored(op.mode, i - before, size) * op.element, op.element);
    std::memcpy(y, row, static_cast<std::size_t>(size) * op.element);
    y += static_cast<std::size_t>(size) * op.element;
    for (std::int32_t i = 0; i < after; ++i, y += op.element) std::memcpy(y, row + mirrored(op.mode, size + i, size) * op.element, op.element);
    for (std::size_t k = inner; k-- > 0;) {
      if (++at[k] < op.y_dims[k]) break;
      at[k] = 0;
    }
  }
}

void run_pad(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundPad&>(self);
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  if (op.over_time) {
    const FrameIndex& index = context.index[op.x_tensor];
    const std::size_t bytes = static_cast<std::size_t>(op.frame_elements) * op.element;
    for (std::int64_t f = 0; f < op.frames; ++f, x += bytes, y += bytes) {
      const std::int64_t t = index.first - op.back_frames + f;
      if (t >= 0 && t < index.length) {
        std::memcpy(y, x, bytes);
        if (op.rescale.needed()) op.rescale(static_cast<std::size_t>(op.frame_elements), y, y);
      } else {
        for (std::int64_t i = 0; i < op.frame_elements; ++i) std::memcpy(y + static_cast<std::size_t>(i) * op.element, &op.value, op.element);
      }
    }
    return;
  }
  if (op.rescale.needed()) {
    const std::size_t count = static_cast<std::size_t>(op.x_dims[0]) * static_cast<std::size_t>(op.x_dims[1]) * static_cast<std::size_t>(op.x_dims[2]) *
                              static_cast<std::size_t>(op.x_dims[3]) * static_cast<std::size_t>(op.x_dims[4]) * static_cast<std::size_t>(op.x_dims[5]);
    op.rescale(count, x, context.scratch);
    x = context.scratch;
  }
  if (op.mode == fb::PadMode::zero) kernels::pad_constant(op.element, op.rank, op.x_dims, op.before, op.y_dims, &op.value, x, y);
  else pad_mirrored(op, x, y);
}

Status check_pad(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::PadOptions* const o, options<fb::PadOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  const auto rank = static_cast<std::uint32_t>(x.shape.rank);
  if (o->before() == nullptr || o->after() == nullptr || o->before()->size() != rank || o->after()->size() != rank) {
    return Status(Code::invalid_data) << "padding that is not given for " << rank << " axes";
  }
  if (o->mode() > fb::PadMode::MAX) return Status(Code::invalid_data) << "unknown mode " << static_cast<int>(o->mode());
  Shape expected = x.shape;
  for (int axis = 0; axis < x.shape.rank; ++axis) {
    const std::int64_t before = o->before()->Get(static_cast<std::uint32_t>(axis)), after = o->after()->Get(static_cast<std::uint32_t>(axis));
    const std::int64_t most = o->mode() == fb::PadMode::reflect ? x.shape[axis] - 1 : (1 << 24);
    if (before < 0 || after < 0 || before > most || after > most) {
      return Status(Code::invalid_data) << "padding of " << before << " and " << after << " on axis " << axis << ", expected 0 to " << most;
    }
    expected[axis] = static_cast<std::int32_t>(x.shape[axis] + before + after);
  }
  return expect_shape(y.shape, expected, "the output");
}
Status stream_pad(const Model&, const fb::Operator& op, TimeAxes axes, streaming::NodeRule& rule) noexcept {
  const fb::PadOptions& o = *op.options_as_PadOptions();
  const auto axis = static_cast<std::uint32_t>(axes[0]);
  axes.back() = axes[0];
  if (o.before()->Get(axis) == 0 && o.after()->Get(axis) == 0) return {};
  if (o.mode() != fb::PadMode::zero) return Status(Code::unsupported) << "mirrors or repeats frames at the ends of the recording";
  for (std::uint32_t other = 0; other < o.before()->size(); ++other) {
    if (other != axis && (o.before()->Get(other) != 0 || o.after()->Get(other) != 0)) {
      return Status(Code::unsupported) << "pads time and another axis at once; pad them in two steps";
    }
  }
  rule.kind = streaming::Kind::window;
  rule.padding = streaming::Padding::skipped;
  rule.left = o.before()->Get(axis);
  rule.right = o.after()->Get(axis);
  return {};
}
Result<const BoundOperator*> prepare_pad(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::PadOptions& o = *op.options_as_PadOptions();
  RUNNEL_ASSIGN(BoundPad* const bound, allocate<BoundPad>(context, run_pad));
  const std::int32_t x_tensor = input_index(op, 0);
  const TensorView x = input(context.model(), op, 0), y = output(context.model(), op);
  const Shape from = context.shape(x_tensor), to = context.shape(output_index(op));
  bound->x = operand(context, 0);
  bound->x_tensor = x_tensor;
  bound->y = output_index(op);
  bound->element = size_of(x.dtype);
  bound->rank = from.rank;
  bound->x_dims = dims_of(from);
  bound->y_dims = dims_of(to);
  bound->mode = o.mode();
  bound->value = o.value();
  if (x.dtype == DType::float32) {
    const float value = o.real_value();
    std::memcpy(&bound->value, &value, sizeof value);
  }
  bound->rescale = rescale(context, x, y);
  for (int axis = 0; axis < from.rank; ++axis) bound->before[static_cast<std::size_t>(axis)] = o.before()->Get(static_cast<std::uint32_t>(axis));
  const int time = context.time_axis(x_tensor);
  if (time >= 0 && context.streamed() && (o.before()->Get(static_cast<std::uint32_t>(time)) != 0 || o.after()->Get(static_cast<std::uint32_t>(time)) != 0)) {
    bound->over_time = true;
    bound->back_frames = context.window(0).back_frames;
    bound->frames = to[time];
    bound->frame_elements = to.product(time + 1, to.rank);
    if (to.product(0, time) != 1) return Status(Code::unsupported) << "pads time behind dimensions of more than 1";
    context.use_frame_index();
  } else if (bound->rescale.needed()) {
    context.request_scratch(static_cast<std::size_t>(from.elements()) * bound->element);
  }
  if (bound->mode != fb::PadMode::zero) {
    // Axes behind the last padded one are part of its elements.
    bound->rank = std::max(bound->rank, 1);
    auto last = static_cast<std::size_t>(bound->rank - 1);
    for (; last > 0 && bound->x_dims[last] == bound->y_dims[last]; --last) bound->element *= static_cast<std::size_t>(bound->x_dims[last]);
    bound->rank = static_cast<int>(last) + 1;
    bound->lines = 1;
    for (std::size_t axis = 0; axis < last; ++axis) bound->lines *= static_cast<std::size_t>(bound->y_dims[axis]);
  }
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition reshape_v1{fb::OpCode::reshape, 1, "reshape", check_reshape, stream_reshape, prepare_reshape, InPlace::view};
const OperatorDefinition transpose_v1{fb::OpCode::transpose, 1, "transpose", check_transpose, stream_transpose, prepare_transpose};
const OperatorDefinition slice_v1{fb::OpCode::slice, 1, "slice", check_slice, stream_slice, prepare_slice};
const OperatorDefinition concat_v1{fb::OpCode::concat, 1, "concat", check_concat, stream_parts, prepare_concat};
const OperatorDefinition split_v1{fb::OpCode::split, 1, "split", check_split, stream_parts, prepare_split};
const OperatorDefinition pad_v1{fb::OpCode::pad, 1, "pad", check_pad, stream_pad, prepare_pad};

}  // namespace runnel::ops
