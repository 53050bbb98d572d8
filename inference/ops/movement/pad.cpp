// Padding: by a value, mirrored, or with the outermost elements.
#include <algorithm>
#include <cstring>

#include "inference/ops/definitions.h"
#include "inference/ops/rescale.h"
#include "inference/ops/support.h"
#include "kernels/movement.h"

namespace runnel::ops {
namespace {

struct BoundPad : BoundOperator {
  Operand x;
  std::int32_t x_tensor = -1, y = -1;
  std::size_t element = 1, lines = 0;  // lines: of the output's last axis
  int rank = 0;
  kernels::Dims x_dims{}, y_dims{}, before{};
  std::int64_t value = 0;
  Rescale rescale;
  PadMode mode = PadMode::zero;
  bool over_time = false;  // streamed along time: frames by logical index
  std::int64_t back_frames = 0, frames = 0, frame_elements = 0;
};

// Where position `position` of a padded axis comes from.
std::size_t mirrored(PadMode mode, std::int32_t position, std::int32_t size) noexcept {
  const std::int32_t last = size - 1;
  if (mode == PadMode::edge) return static_cast<std::size_t>(std::clamp<std::int32_t>(position, 0, last));
  return static_cast<std::size_t>(position < 0      ? -position
                                  : position > last ? 2 * last - position
                                                    : position);
}

// Reflecting and edge padding, line by line of the last axis: what is not padding is copied as one piece.
void pad_mirrored(const BoundPad& op, const std::byte* x, std::byte* y) noexcept {
  const auto inner = static_cast<std::size_t>(op.rank - 1);
  const std::int32_t size = op.x_dims[inner], before = op.before[inner],
                     after = op.y_dims[inner] - size - before;
  kernels::Dims at{};
  for (std::size_t line = 0; line < op.lines; ++line) {
    std::size_t from = 0;
    for (std::size_t k = 0; k < inner; ++k)
      from = from * static_cast<std::size_t>(op.x_dims[k]) +
             mirrored(op.mode, at[k] - op.before[k], op.x_dims[k]);
    const std::byte* const row = x + from * static_cast<std::size_t>(size) * op.element;
    for (std::int32_t i = 0; i < before; ++i, y += op.element)
      std::memcpy(y, row + mirrored(op.mode, i - before, size) * op.element, op.element);
    std::memcpy(y, row, static_cast<std::size_t>(size) * op.element);
    y += static_cast<std::size_t>(size) * op.element;
    for (std::int32_t i = 0; i < after; ++i, y += op.element)
      std::memcpy(y, row + mirrored(op.mode, size + i, size) * op.element, op.element);
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
        kernels::fill(op.element, op.frame_elements, &op.value, y);
      }
    }
    return;
  }
  if (op.rescale.needed()) {
    const std::size_t count =
        static_cast<std::size_t>(op.x_dims[0]) * static_cast<std::size_t>(op.x_dims[1]) *
        static_cast<std::size_t>(op.x_dims[2]) * static_cast<std::size_t>(op.x_dims[3]) *
        static_cast<std::size_t>(op.x_dims[4]) * static_cast<std::size_t>(op.x_dims[5]);
    op.rescale(count, x, context.scratch);
    x = context.scratch;
  }
  if (op.mode == PadMode::zero)
    kernels::pad_constant(op.element, op.rank, op.x_dims, op.before, op.y_dims, &op.value, x, y);
  else
    pad_mirrored(op, x, y);
}

Status check_pad(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::PadOptions* const o, options<fb::PadOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  const auto rank = static_cast<std::uint32_t>(x.shape.rank);
  if (o->before() == nullptr || o->after() == nullptr || o->before()->size() != rank ||
      o->after()->size() != rank) {
    return Status(Code::invalid_data) << "padding that is not given for " << rank << " axes";
  }
  if (o->mode() > fb::PadMode::MAX)
    return Status(Code::invalid_data) << "unknown mode " << static_cast<int>(o->mode());
  Shape expected = x.shape;
  for (int axis = 0; axis < x.shape.rank; ++axis) {
    const std::int64_t before = o->before()->Get(static_cast<std::uint32_t>(axis)),
                       after = o->after()->Get(static_cast<std::uint32_t>(axis));
    const std::int64_t most = native(o->mode()) == PadMode::reflect ? x.shape[axis] - 1 : (1 << 24);
    if (before < 0 || after < 0 || before > most || after > most) {
      return Status(Code::invalid_data) << "padding of " << before << " and " << after << " on axis " << axis
                                        << ", expected 0 to " << most;
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
  if (native(o.mode()) != PadMode::zero)
    return Status(Code::unsupported) << "mirrors or repeats frames at the ends of the recording";
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
  bound->mode = native(o.mode());
  bound->value = o.value();
  if (x.dtype == DType::float32) {
    const float value = o.real_value();
    std::memcpy(&bound->value, &value, sizeof value);
  }
  bound->rescale = rescale(context, x, y);
  for (int axis = 0; axis < from.rank; ++axis)
    bound->before[static_cast<std::size_t>(axis)] = o.before()->Get(static_cast<std::uint32_t>(axis));
  const int time = context.time_axis(x_tensor);
  if (time >= 0 && context.streamed() &&
      (o.before()->Get(static_cast<std::uint32_t>(time)) != 0 ||
       o.after()->Get(static_cast<std::uint32_t>(time)) != 0)) {
    bound->over_time = true;
    bound->back_frames = context.window(0).back_frames;
    bound->frames = to[time];
    bound->frame_elements = to.product(time + 1, to.rank);
    if (to.product(0, time) != 1)
      return Status(Code::unsupported) << "pads time after dimensions of more than 1";
    context.use_frame_index();
  } else if (bound->rescale.needed()) {
    context.request_scratch(static_cast<std::size_t>(from.elements()) * bound->element);
  }
  if (bound->mode != PadMode::zero) {
    // Axes after the last padded one are part of its elements.
    bound->rank = std::max(bound->rank, 1);
    auto last = static_cast<std::size_t>(bound->rank - 1);
    for (; last > 0 && bound->x_dims[last] == bound->y_dims[last]; --last)
      bound->element *= static_cast<std::size_t>(bound->x_dims[last]);
    bound->rank = static_cast<int>(last) + 1;
    bound->lines = 1;
    for (std::size_t axis = 0; axis < last; ++axis)
      bound->lines *= static_cast<std::size_t>(bound->y_dims[axis]);
  }
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kPad{OpCode::pad, Arithmetic::espdl, "pad", check_pad, stream_pad, prepare_pad};

}  // namespace runnel::ops
