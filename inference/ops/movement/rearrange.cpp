// Operators that are walks over their input with a stride per axis: depth to space, space to depth, expand;
// and insert zeros and reverse sequence, which walk row by row.
#include <algorithm>
#include <cstring>

#include "inference/ops/definitions.h"
#include "inference/ops/movement/bound_movement.h"
#include "streaming/certainty.h"

namespace runnel::ops {

void run_strided(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundStrided&>(self);
  std::byte* y = context.data[op.y];
  kernels::strided_copy(op.copy, op.x.at(context), y);
  if (op.rescale.needed()) op.rescale(op.count, y, y);
}

namespace {

Result<BoundStrided*> bind_strided(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundStrided* const bound, allocate<BoundStrided>(context, run_strided));
  const TensorView x = input(context.model(), context.op(), 0), y = output(context.model(), context.op());
  bound->x = operand(context, 0);
  bound->y = output_index(context.op());
  bound->count = static_cast<std::size_t>(context.shape(bound->y).elements());
  bound->rescale = rescale(context, x, y);
  bound->copy.element_size = size_of(x.dtype);
  return bound;
}

// ---- blocks of pixels and channels: [N, height, width, C]
// ---------------------------------------------------------------

Status check_block(const Model& model, const fb::Operator& op, bool to_space) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::BlockOptions* const o, options<fb::BlockOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  if (x.shape.rank != 4)
    return Status(Code::unsupported) << "an input of rank " << x.shape.rank
                                     << ", expected [batch, height, width, channels]";
  const std::int32_t size = o->size();
  if (size < 1 || size > 4096)
    return Status(Code::invalid_data) << "blocks of " << size << ", expected 1 to 4096";
  Shape expected = x.shape;
  if (to_space) {
    if (x.shape[3] % (size * size) != 0)
      return Status(Code::invalid_data) << x.shape[3] << " channels for blocks of " << size << " x " << size;
    expected[1] *= size;
    expected[2] *= size;
    expected[3] /= size * size;
  } else {
    // Rows and columns that do not fill a block are left out.
    expected[1] /= size;
    expected[2] /= size;
    expected[3] *= size * size;
  }
  return expect_shape(y.shape, expected, "the output");
}
Status check_depth_to_space(const Model& model, const fb::Operator& op) noexcept {
  return check_block(model, op, true);
}
Status check_space_to_depth(const Model& model, const fb::Operator& op) noexcept {
  return check_block(model, op, false);
}

Status stream_block(const fb::Operator& op, TimeAxes axes, streaming::NodeRule& rule,
                    streaming::Kind kind) noexcept {
  axes.back() = axes[0];
  if (axes[0] == 0) return {};
  if (axes[0] == 3) return Status(Code::unsupported) << "mixes time into its channels: time is axis 3 of 4";
  rule.kind = kind;
  rule.kernel = rule.stride = op.options_as_BlockOptions()->size();
  return {};
}
Status stream_depth_to_space(const Model&, const fb::Operator& op, TimeAxes axes,
                             streaming::NodeRule& rule) noexcept {
  return stream_block(op, axes, rule, streaming::Kind::upsample);
}
Status stream_space_to_depth(const Model&, const fb::Operator& op, TimeAxes axes,
                             streaming::NodeRule& rule) noexcept {
  return stream_block(op, axes, rule, streaming::Kind::window);
}

Result<const BoundOperator*> prepare_depth_to_space(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundStrided* const bound, bind_strided(context));
  const fb::BlockOptions& o = *context.op().options_as_BlockOptions();
  Shape x = context.shape(input_index(context.op(), 0));
  const std::int32_t b = o.size(), channels = x[3] / (b * b);
  const std::int64_t row = o.channel_major() ? b : std::int64_t{b} * channels,
                     column = o.channel_major() ? 1 : channels;
  bound->copy.rank = 6;
  bound->copy.dims = {x[0] * x[1], b, x[2], b, channels, 1};
  bound->copy.strides = {
      std::int64_t{x[2]} * x[3], row, x[3], column, o.channel_major() ? std::int64_t{b} * b : 1, 1};
  return static_cast<const BoundOperator*>(bound);
}

Result<const BoundOperator*> prepare_space_to_depth(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundStrided* const bound, bind_strided(context));
  const fb::Operator& op = context.op();
  const Shape x = context.shape(input_index(op, 0)), y = context.shape(bound->y);
  const std::int32_t b = op.options_as_BlockOptions()->size();
  const std::int64_t channels = x[3], row = channels * x[2];
  bound->copy.rank = 6;
  bound->copy.dims = {y[0], y[1], y[2], b, b, x[3]};
  bound->copy.strides = {row * x[1], row * b, channels * b, row, channels, 1};
  return static_cast<const BoundOperator*>(bound);
}

// ---- expand: broadcasts to the output's shape
// ------------------------------------------------------------------------------

Status check_expand(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  const int more = y.shape.rank - x.shape.rank;
  if (more < 0)
    return Status(Code::invalid_data) << "expands rank " << x.shape.rank << " to rank " << y.shape.rank;
  for (int axis = 0; axis < x.shape.rank; ++axis) {
    if (x.shape[axis] != 1 && x.shape[axis] != y.shape[axis + more]) {
      return Status(Code::invalid_data)
             << "expands axis " << axis << " of " << x.shape[axis] << " elements to " << y.shape[axis + more];
    }
  }
  return {};
}
Status stream_expand(const Model& model, const fb::Operator& op, TimeAxes axes,
                     streaming::NodeRule&) noexcept {
  const Shape x = input(model, op, 0).shape, y = output(model, op).shape;
  const int axis = axes[0] + y.rank - x.rank;
  if (x[axes[0]] != y[axis])
    return Status(Code::unsupported) << "repeats one frame " << y[axis]
                                     << " times along time; give it a recording of more than one frame";
  axes.back() = static_cast<std::int8_t>(axis);
  return {};
}
Result<const BoundOperator*> prepare_expand(PrepareContext& context) noexcept {
  RUNNEL_ASSIGN(BoundStrided* const bound, bind_strided(context));
  const std::int32_t x_tensor = input_index(context.op(), 0);
  const Shape x = context.shape(x_tensor), y = context.shape(bound->y),
              reference = input(context.model(), context.op(), 0).shape;
  bound->copy.rank = y.rank;
  for (int axis = 0; axis < y.rank; ++axis) {
    const int from = axis - (y.rank - x.rank);
    // A block of one frame is still a step along time.
    const bool repeats = from < 0 || (reference[from] == 1 && from != context.time_axis(x_tensor));
    bound->copy.dims[static_cast<std::size_t>(axis)] = y[axis];
    bound->copy.strides[static_cast<std::size_t>(axis)] = repeats ? 0 : x.product(from + 1, x.rank);
  }
  return static_cast<const BoundOperator*>(bound);
}

// ---- insert zeros: x[.., (height,) width, C] spread out
// -----------------------------------------------------------------------

struct BoundInsert : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  std::int32_t batch = 1, in_height = 1, in_width = 1, out_height = 1, out_width = 1, stride_height = 1,
               stride_width = 1;
  std::int32_t late_height = 0,
               late_width = 0;  // outputs of a block that come this much later than its inputs
  std::size_t pixel = 0, bytes = 0, count = 0;
  Rescale rescale;
};

// The input element at output position f of an axis; -1: a zero.
std::int32_t source_of(std::int32_t f, std::int32_t late, std::int32_t stride, std::int32_t count) noexcept {
  const std::int32_t m = f - late;
  return m >= 0 && m % stride == 0 && m / stride < count ? m / stride : -1;
}

void run_insert_zeros(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundInsert&>(self);
  const std::byte* x = op.x.at(context);
  std::byte* const y = context.data[op.y];
  std::memset(y, 0, op.bytes);
  std::byte* to = y;
  for (std::int32_t b = 0; b < op.batch; ++b) {
    for (std::int32_t h = 0; h < op.out_height; ++h) {
      const std::int32_t row = source_of(h, op.late_height, op.stride_height, op.in_height);
      for (std::int32_t w = 0; w < op.out_width; ++w, to += op.pixel) {
        const std::int32_t column = source_of(w, op.late_width, op.stride_width, op.in_width);
        if (row < 0 || column < 0) continue;
        std::memcpy(to,
                    x + (static_cast<std::size_t>(row) * static_cast<std::size_t>(op.in_width) +
                         static_cast<std::size_t>(column)) *
                            op.pixel,
                    op.pixel);
      }
    }
    x += static_cast<std::size_t>(op.in_height) * static_cast<std::size_t>(op.in_width) * op.pixel;
  }
  if (op.rescale.needed()) op.rescale(op.count, y, y);
}

Status check_insert_zeros(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::InsertZerosOptions* const o, options<fb::InsertZerosOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  if (x.shape.rank != 3 && x.shape.rank != 4)
    return Status(Code::unsupported) << "an input of rank " << x.shape.rank << ", expected 3 or 4";
  constexpr std::int32_t kMax = 1 << 12;
  for (const std::int32_t stride : {o->stride_height(), o->stride_width()}) {
    if (stride < 1 || stride > kMax)
      return Status(Code::invalid_data) << "stride " << stride << ", expected 1 to " << kMax;
  }
  if (o->after_height() < 0 || o->after_height() >= o->stride_height() || o->after_width() < 0 ||
      o->after_width() >= o->stride_width()) {
    return Status(Code::invalid_data) << o->after_height() << " and " << o->after_width()
                                      << " zeros at the end, expected less than the strides";
  }
  Shape expected = x.shape;
  const int width = x.shape.rank - 2;
  const auto grown = [](std::int64_t size, std::int32_t stride, std::int32_t after) {
    return static_cast<std::int32_t>((size - 1) * stride + 1 + after);
  };
  expected[width] = grown(x.shape[width], o->stride_width(), o->after_width());
  if (width == 2) expected[1] = grown(x.shape[1], o->stride_height(), o->after_height());
  return expect_shape(y.shape, expected, "the output");
}

Status stream_insert_zeros(const Model& model, const fb::Operator& op, TimeAxes axes,
                           streaming::NodeRule& rule) noexcept {
  const fb::InsertZerosOptions& o = *op.options_as_InsertZerosOptions();
  const int rank = input(model, op, 0).shape.rank;
  axes.back() = axes[0];
  if (axes[0] == 0) return {};
  if (axes[0] == rank - 1)
    return Status(Code::unsupported) << "mixes time into its channels: time is axis "
                                     << static_cast<int>(axes[0]) << " of " << rank;
  const bool width = axes[0] == rank - 2;
  rule.kind = streaming::Kind::upsample;
  rule.stride = width ? o.stride_width() : o.stride_height();
  rule.right = -(width ? o.after_width() : o.after_height());
  return {};
}

Result<const BoundOperator*> prepare_insert_zeros(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::InsertZerosOptions& o = *op.options_as_InsertZerosOptions();
  RUNNEL_ASSIGN(BoundInsert* const bound, allocate<BoundInsert>(context, run_insert_zeros));
  const std::int32_t x_tensor = input_index(op, 0);
  const Shape x = context.shape(x_tensor), y = context.shape(output_index(op));
  const TensorView from = input(context.model(), op, 0);
  const int width = x.rank - 2, time = context.time_axis(x_tensor);
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  bound->batch = x[0];
  bound->in_width = x[width];
  bound->out_width = y[width];
  bound->stride_width = o.stride_width();
  if (width == 2) {
    bound->in_height = x[1];
    bound->out_height = y[1];
    bound->stride_height = o.stride_height();
  }
  // Before the end is known, the zeros after the last frame must not be called data (streaming/plan.cpp):
  // they wait for the next.
  const auto late = [](std::int32_t stride, std::int32_t after) {
    streaming::NodeRule rule;
    rule.stride = stride;
    rule.right = -after;
    return static_cast<std::int32_t>(streaming::certainty(rule));
  };
  if (context.streamed() && time == width)
    bound->late_width = late(o.stride_width(), o.after_width());
  else if (context.streamed() && time == 1)
    bound->late_height = late(o.stride_height(), o.after_height());
  bound->pixel = static_cast<std::size_t>(x[x.rank - 1]) * size_of(from.dtype);
  bound->count = static_cast<std::size_t>(y.elements());
  bound->bytes = bound->count * size_of(from.dtype);
  bound->rescale = rescale(context, from, output(context.model(), op));
  return static_cast<const BoundOperator*>(bound);
}

// ---- reverse sequence: per batch entry, the first `length` frames backwards
// -----------------------------------------------------

struct BoundReverse : BoundOperator {
  Operand x;
  std::int32_t y = -1, lengths = -1;
  DType length_type = DType::int64;
  std::size_t element = 1, count = 0;
  Shape shape;
  int time_axis = 0, batch_axis = 0;
  Rescale rescale;
};

void run_reverse(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundReverse&>(self);
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  const std::byte* lengths = context.data[op.lengths];
  const Shape& shape = op.shape;
  const int inner_axis = std::max(op.time_axis, op.batch_axis);
  const std::size_t inner = static_cast<std::size_t>(shape.product(inner_axis + 1, shape.rank)) * op.element;
  const std::int64_t rows = shape.product(0, inner_axis + 1);
  const std::int64_t time_stride = shape.product(op.time_axis + 1, inner_axis + 1),
                     batch_stride = shape.product(op.batch_axis + 1, inner_axis + 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t t = row / time_stride % shape[op.time_axis],
                       b = row / batch_stride % shape[op.batch_axis];
    const std::int64_t given = op.length_type == DType::int64
                                   ? reinterpret_cast<const std::int64_t*>(lengths)[b]
                                   : reinterpret_cast<const std::int32_t*>(lengths)[b];
    const std::int64_t length =
        std::clamp<std::int64_t>(given, 0, shape[op.time_axis]);  // may be computed: not trusted
    const std::int64_t from = t < length ? row + (length - 1 - 2 * t) * time_stride : row;
    std::byte* const to = y + static_cast<std::size_t>(row) * inner;
    if (x != y)
      std::memcpy(to, x + static_cast<std::size_t>(from) * inner, inner);
    else if (from > row)
      std::swap_ranges(to, to + inner, y + static_cast<std::size_t>(from) * inner);
  }
  if (op.rescale.needed()) op.rescale(op.count, y, y);
}

Status check_reverse(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 2, 2));
  RUNNEL_ASSIGN(const fb::ReverseOptions* const o, options<fb::ReverseOptions>(op));
  const TensorView x = input(model, op, 0), lengths = input(model, op, 1), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  for (const std::int32_t axis : {o->time_axis(), o->batch_axis()}) {
    if (axis < 0 || axis >= x.shape.rank)
      return Status(Code::invalid_data) << "axis " << axis << ", expected 0 to " << x.shape.rank - 1;
  }
  if (o->time_axis() == o->batch_axis())
    return Status(Code::invalid_data) << "time and batch are both axis " << o->time_axis();
  if ((lengths.dtype != DType::int64 && lengths.dtype != DType::int32) ||
      lengths.shape.elements() != x.shape[o->batch_axis()]) {
    return Status(Code::invalid_data) << lengths.shape.elements() << " lengths of " << name_of(lengths.dtype)
                                      << ", expected " << x.shape[o->batch_axis()] << " int32 or int64";
  }
  return expect_shape(y.shape, x.shape, "the output");
}
Status stream_reverse(const Model&, const fb::Operator& op, TimeAxes axes, streaming::NodeRule&) noexcept {
  const fb::ReverseOptions& o = *op.options_as_ReverseOptions();
  if (axes[1] >= 0) return Status(Code::unsupported) << "reverses by lengths that are a stream";
  if (axes[0] == o.time_axis())
    return Status(Code::unsupported)
           << "reverses the recording; it needs its end first: run the model in usage `window` or `whole`";
  if (axes[0] == o.batch_axis())
    return Status(Code::unsupported) << "reverses each frame by a length of its own";
  axes.back() = axes[0];
  return {};
}
Result<const BoundOperator*> prepare_reverse(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::ReverseOptions& o = *op.options_as_ReverseOptions();
  RUNNEL_ASSIGN(BoundReverse* const bound, allocate<BoundReverse>(context, run_reverse));
  const TensorView x = input(context.model(), op, 0);
  bound->x = operand(context, 0);
  bound->y = output_index(op);
  context.read_constant(input_index(op, 1));
  bound->lengths = input_index(op, 1);
  bound->length_type = input(context.model(), op, 1).dtype;
  bound->element = size_of(x.dtype);
  bound->shape = context.shape(input_index(op, 0));
  bound->count = static_cast<std::size_t>(bound->shape.elements());
  bound->time_axis = o.time_axis();
  bound->batch_axis = o.batch_axis();
  bound->rescale = rescale(context, x, output(context.model(), op));
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kDepthToSpace{OpCode::depth_to_space, Arithmetic::espdl,     "depth_to_space",
                                       check_depth_to_space,   stream_depth_to_space, prepare_depth_to_space};
const OperatorDefinition kSpaceToDepth{OpCode::space_to_depth, Arithmetic::espdl,     "space_to_depth",
                                       check_space_to_depth,   stream_space_to_depth, prepare_space_to_depth};
const OperatorDefinition kExpand{OpCode::expand, Arithmetic::espdl, "expand",
                                 check_expand,   stream_expand,     prepare_expand};
const OperatorDefinition kInsertZeros{OpCode::insert_zeros, Arithmetic::espdl,   "insert_zeros",
                                      check_insert_zeros,   stream_insert_zeros, prepare_insert_zeros};
const OperatorDefinition kReverseSequence{
    OpCode::reverse_sequence, Arithmetic::espdl, "reverse_sequence", check_reverse,
    stream_reverse,           prepare_reverse,   InPlace::first};

}  // namespace runnel::ops
