// Resizing of height and width, channels last: the nearest element, or linear along each axis (bilinear),
// height first.
//
// Positions are exact fractions (options in inference/model/model.fbs); linear weights and sums are float32.
// Along time a stream is resized by a whole factor s: nearest is repetition, linear a filter of two input
// frames (docs/streaming.md, upsample).
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "inference/ops/definitions.h"
#include "inference/ops/movement/axis_map.h"
#include "inference/ops/rescale.h"
#include "inference/ops/support.h"
#include "streaming/certainty.h"

namespace runnel::ops {
namespace {

// The two elements that output i is made of.
struct Taps {
  std::int64_t left = 0, right = 0;
  float weight = 0;  // of the right one
};
Taps taps_of(const AxisMap& map, bool linear, std::int64_t i, std::int64_t length) noexcept {
  if (map.same) return {i, i, 0};
  const std::int64_t position = i * map.step + map.shift, left = floor_div(position, map.unit);
  if (!linear || length == 1)
    return {std::clamp<std::int64_t>(left, 0, length - 1), std::clamp<std::int64_t>(left, 0, length - 1), 0};
  // Beyond the ends the outermost element alone; the one beside it need not be there any more.
  if (left < 0) return {0, 0, 0};
  if (left >= length - 1) return {length - 1, length - 1, 0};
  return {left, left + 1, static_cast<float>(position - left * map.unit) / static_cast<float>(map.unit)};
}

struct BoundResize : BoundOperator {
  Operand x;
  std::int32_t x_tensor = -1, y = -1;
  DType dtype = DType::none;
  bool linear = false;
  AxisMap height, width;
  std::int64_t batch = 1, in_height = 1, in_width = 1, out_height = 1, out_width = 1, channels = 1;
  std::int64_t x_batch = 0;        // elements between the inputs of two batch entries
  float x_scale = 1, y_scale = 1;  // y_scale: 1 / scale of y
  kernels::Rounding rounding = kernels::Rounding::half_up;
  Rescale rescale;
  // Streamed and resized along time: output frame f of a block has index factor * (first input index) - late
  // + f.
  int time = -1;  // 0 height, 1 width, -1 neither
  std::int64_t factor = 1, late = 0, back_frames = 0;
};

// The position of a block: frames of input and output, by index.
struct Along {
  std::int64_t first_out = 0, first_in = 0, length = 0;
};

template <class T>
void put(const BoundResize& op, float value, T* y) noexcept {
  if constexpr (std::is_same_v<T, float>)
    *y = value;
  else
    *y = kernels::saturate<T>(kernels::round_float(value * op.y_scale, op.rounding));
}

template <class T>
void resize_pixel(const BoundResize& op, const T* x, const Taps& h, const Taps& w, T* y) noexcept {
  const std::int64_t row = op.in_width * op.channels;
  const T* const top_left = x + h.left * row + w.left * op.channels;
  if (!op.linear) {
    std::memcpy(y, top_left, static_cast<std::size_t>(op.channels) * sizeof(T));
    return;
  }
  const T* const bottom_left = x + h.right * row + w.left * op.channels;
  const std::int64_t aside = (w.right - w.left) * op.channels;
  for (std::int64_t c = 0; c < op.channels; ++c) {
    const auto real = [&](const T* at) { return static_cast<float>(*at) * op.x_scale; };
    const auto down = [&](std::int64_t offset) {
      const float above = real(top_left + offset + c);
      return op.height.same ? above : above * (1.0f - h.weight) + real(bottom_left + offset + c) * h.weight;
    };
    const float left = down(0);
    put(op, op.width.same ? left : left * (1.0f - w.weight) + down(aside) * w.weight, y + c);
  }
}

template <class T>
void resize(const BoundResize& op, const Along& along, const T* x, T* y) noexcept {
  // Taps are indices of the recording along time and positions in the tensor elsewhere.
  const auto taps = [&](const AxisMap& map, int axis, std::int64_t i, std::int64_t length, Taps& out) {
    if (op.time != axis) {
      out = taps_of(map, op.linear, i, length);
      return true;
    }
    const std::int64_t t = along.first_out + i;
    if (t < 0 || t >= (along.length == kEndless ? kEndless : along.length * op.factor)) return false;
    out = taps_of(map, op.linear, t, along.length);
    out.left -= along.first_in;
    out.right -= along.first_in;
    return true;
  };
  for (std::int64_t b = 0; b < op.batch; ++b, x += op.x_batch) {
    for (std::int64_t i = 0; i < op.out_height; ++i) {
      Taps h;
      const bool row_is_data = taps(op.height, 0, i, op.in_height, h);
      for (std::int64_t j = 0; j < op.out_width; ++j, y += op.channels) {
        Taps w;
        if (row_is_data && taps(op.width, 1, j, op.in_width, w))
          resize_pixel(op, x, h, w, y);
        else
          std::fill_n(y, op.channels, T{});
      }
    }
  }
}

void run_resize(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundResize&>(self);
  Along along;
  if (op.time >= 0) {
    const FrameIndex& index = context.index[op.x_tensor];
    along = {op.factor * index.first - op.late, index.first - op.back_frames, index.length};
  }
  const std::byte* x = op.x.at(context);
  std::byte* y = context.data[op.y];
  if (op.dtype == DType::int8)
    resize(op, along, reinterpret_cast<const std::int8_t*>(x), reinterpret_cast<std::int8_t*>(y));
  else if (op.dtype == DType::int16)
    resize(op, along, reinterpret_cast<const std::int16_t*>(x), reinterpret_cast<std::int16_t*>(y));
  else
    resize(op, along, reinterpret_cast<const float*>(x), reinterpret_cast<float*>(y));
  if (!op.linear && op.rescale.needed())
    op.rescale(static_cast<std::size_t>(op.batch * op.out_height * op.out_width * op.channels), y, y);
}

Status check_resize(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_operands(op, 1, 1));
  RUNNEL_ASSIGN(const fb::ResizeOptions* const o, options<fb::ResizeOptions>(op));
  const TensorView x = input(model, op, 0), y = output(model, op);
  RUNNEL_TRY(check_moved(x, y));
  if (x.dtype != DType::float32) RUNNEL_TRY(check_quantized(x, "the input"));
  if (o->mode() > fb::ResizeMode::MAX || o->coordinates() > fb::ResizeCoordinates::MAX)
    return Status(Code::invalid_data) << "unknown mode or coordinates";
  if (native(o->mode()) == ResizeMode::nearest && native(o->coordinates()) != ResizeCoordinates::asymmetric) {
    return Status(Code::unsupported) << "nearest with " << name_of(native(o->coordinates()))
                                     << " coordinates, expected asymmetric";
  }
  if (x.shape.rank != 3 && x.shape.rank != 4)
    return Status(Code::unsupported) << "an input of rank " << x.shape.rank
                                     << ", expected [batch, (height,) width, channels]";
  Shape expected = y.shape;
  expected.rank = x.shape.rank;
  expected[0] = x.shape[0];
  expected[x.shape.rank - 1] = x.shape[x.shape.rank - 1];
  return expect_shape(y.shape, expected, "the output");
}

// The rule along an axis that is resized by the factor s. Linear: output j reads the frames left and left +
// 1, and (j + P) / s is left + 1.
streaming::NodeRule rule_of(const fb::ResizeOptions& o, std::int64_t s) noexcept {
  streaming::NodeRule rule;
  rule.kind = streaming::Kind::upsample;
  rule.kernel = rule.stride = s;
  if (native(o.mode()) == ResizeMode::nearest) return rule;
  rule.kernel = 2 * s;
  rule.left = native(o.coordinates()) == ResizeCoordinates::half_pixel ? (s + 1) / 2 : s;
  rule.right = s - rule.left;
  rule.padding = streaming::Padding::skipped;
  return rule;
}

Status stream_resize(const Model& model, const fb::Operator& op, TimeAxes axes,
                     streaming::NodeRule& rule) noexcept {
  const fb::ResizeOptions& o = *op.options_as_ResizeOptions();
  const Shape x = input(model, op, 0).shape, y = output(model, op).shape;
  const int axis = axes[0];
  axes.back() = axes[0];
  if (axis == 0 || x[axis] == y[axis]) return {};
  if (y[axis] % x[axis] != 0) {
    return Status(Code::unsupported) << "resizes time from " << x[axis] << " to " << y[axis]
                                     << " frames; only whole factors can be streamed";
  }
  if (native(o.coordinates()) == ResizeCoordinates::align_corners)
    return Status(Code::unsupported)
           << "aligns the corners, which depends on the recording's length; use half_pixel";
  rule = rule_of(o, y[axis] / x[axis]);
  return {};
}

Result<const BoundOperator*> prepare_resize(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::ResizeOptions& o = *op.options_as_ResizeOptions();
  RUNNEL_ASSIGN(BoundResize* const bound, allocate<BoundResize>(context, run_resize));
  const std::int32_t x_tensor = input_index(op, 0);
  const TensorView from = input(context.model(), op, 0), to = output(context.model(), op);
  const Shape x = context.shape(x_tensor), y = context.shape(output_index(op));
  const int width = x.rank - 2, time = context.time_axis(x_tensor);
  bound->x = operand(context, 0);
  bound->x_tensor = x_tensor;
  bound->y = output_index(op);
  bound->dtype = from.dtype;
  bound->linear = native(o.mode()) == ResizeMode::linear;
  // Factors are those of the reference length; align_corners is refused for streams, whose length may differ.
  bound->width = AxisMap::of(native(o.coordinates()), from.shape[width], to.shape[width]);
  bound->in_width = x[width];
  bound->out_width = y[width];
  if (width == 2) {
    bound->height = AxisMap::of(native(o.coordinates()), from.shape[1], to.shape[1]);
    bound->in_height = x[1];
    bound->out_height = y[1];
  }
  bound->batch = x[0];
  bound->channels = x[x.rank - 1];
  bound->x_batch = x.product(1, x.rank);
  if (is_integer(from.dtype)) {
    bound->x_scale = kernels::power_of_two(from.exponent());
    bound->y_scale = kernels::power_of_two(-to.exponent());
  }
  bound->rounding = rounding_of(op);
  bound->rescale = rescale(context, from, to);
  if (context.streamed() && time >= 1 && from.shape[time] != to.shape[time]) {
    const std::int64_t s = to.shape[time] / from.shape[time];
    const streaming::NodeRule rule = rule_of(o, s);
    bound->time = time == width ? 1 : 0;
    bound->factor = s;
    bound->late = rule.left + streaming::certainty(rule);
    bound->back_frames = context.window(0).back_frames;
    context.use_frame_index();
  }
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kResize{OpCode::resize, Arithmetic::espdl, "resize",
                                 check_resize,   stream_resize,     prepare_resize};

}  // namespace runnel::ops
