// Reductions over windows of time: sums, means and extremes of the last frames, or
// of all frames so far. Integers cost the same per frame whatever the window: sums take in what enters and
// give back what leaves; extremes keep the window's frames themselves, in place of which the extremes of its
// older part are put whenever it has filled up once more.

#include <cstring>

#include "inference/ops/definitions.h"
#include "inference/ops/reduce/reduction.h"

namespace runnel::ops {
namespace {

constexpr std::int64_t kSoFar = -1;

enum class Method : std::uint8_t { direct, running_sum, running_extreme, so_far };

struct BoundWindow : BoundReduce {
  std::int32_t x_tensor = -1;
  int time_slot = 0;  // which of the reduced axes is time
  std::int64_t window = 0, hop = 1, before = 0;
  std::int64_t in_frames = 0, out_frames = 0, back_frames = 0;
  std::int64_t frame_elements = 0;          // of x
  std::int64_t results = 1;                 // per frame of y
  std::size_t state = 0;                    // offset; so_far in a whole clip: in the scratch memory
  bool keeps_state = false, fixed = false;  // fixed: no stream, all frames are here
  Method method = Method::direct;
};

// The reduction over `frames` frames.
BoundReduce over(const BoundWindow& op, std::int64_t frames) noexcept {
  BoundReduce out = op;
  out.count = op.count / std::max<std::int64_t>(op.reduced[op.time_slot], 1) * frames;
  out.reduced[op.time_slot] = static_cast<std::int32_t>(frames);
  if (op.affine && out.count > 0) out.multiplier = mean_multiplier(op.ratio, out.count);
  return out;
}

// Sums come back from saved sessions, and what they say need not be true: no overflow.
void add_to(std::int64_t& sum, std::int64_t value) noexcept {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
}

// f(i, base): result i starts at element `base` of a frame.
template <class F>
void each_result(const BoundReduce& op, F f) noexcept {
  std::int32_t at[kMaxRank] = {};
  std::int64_t base = 0, i = 0;
  do {
    f(i++, base);
  } while (next(op.kept_rank, op.kept, op.kept_stride, at, base));
}

// The frames of this call by logical index: x points to frame `first`, those in [0, length) are data.
template <class T>
struct Frames {
  const T* x;
  std::int64_t first, length;

  [[nodiscard]] bool is_data(std::int64_t t) const noexcept { return t >= 0 && t < length; }
};

template <class T>
void run_direct(const BoundWindow& op, const Frames<T>& frames, const FrameIndex& out, T* y) noexcept {
  BoundReduce reduction = over(op, op.window);
  for (std::int64_t f = 0; f < op.out_frames; ++f, y += op.results) {
    const std::int64_t t = out.first + f, start = t * op.hop - op.before;
    const std::int64_t from = std::max<std::int64_t>(start, 0),
                       to = std::min(start + op.window, frames.length);
    if (t < 0 || t >= out.length || from >= to) continue;
    if (to - from != reduction.reduced[op.time_slot]) reduction = over(op, to - from);
    const std::int64_t offset = (from - frames.first) * op.frame_elements;
    each_result(reduction, [&](std::int64_t i, std::int64_t base) {
      y[i] = result(reduction, frames.x, offset + base);
    });
  }
}

// State: the number of the next window, then its sums without the frames that are new in it.
template <class T>
void run_sum(const BoundWindow& op, const Frames<T>& frames, const FrameIndex& out, T* y,
             std::byte* state) noexcept {
  auto* const next_window = reinterpret_cast<std::int64_t*>(state);
  std::int64_t* const sums = next_window + 1;
  const BoundReduce one = over(op, 1);
  BoundReduce reduction = over(op, op.window);
  const auto change = [&](std::int64_t from, std::int64_t to, std::int64_t sign) {
    for (std::int64_t u = std::max<std::int64_t>(from, 0); u < to && u < frames.length; ++u) {
      const std::int64_t offset = (u - frames.first) * op.frame_elements;
      if (op.reduced_rank == 1 && op.results == op.frame_elements) {  // the whole frame, element by element
        const T* x = frames.x + offset;
        for (std::int64_t i = 0; i < op.results; ++i) add_to(sums[i], sign * x[i]);
      } else {
        each_result(one, [&](std::int64_t i, std::int64_t base) {
          add_to(sums[i], sign * integer_sum(one, frames.x, offset + base));
        });
      }
    }
  };
  for (std::int64_t f = 0; f < op.out_frames; ++f, y += op.results) {
    const std::int64_t t = out.first + f, start = t * op.hop - op.before, end = start + op.window;
    if (t < 0 || t >= out.length) continue;
    if (*next_window == t) {
      change(end - op.hop, end, 1);
    } else {
      std::fill_n(sums, op.results, 0);
      change(start, end, 1);
    }
    const std::int64_t count = std::min(end, frames.length) - std::max<std::int64_t>(start, 0);
    if (count > 0) {
      if (count != reduction.reduced[op.time_slot]) reduction = over(op, count);
      for (std::int64_t i = 0; i < op.results; ++i) y[i] = finish_integer<T>(reduction, sums[i]);
    }
    change(start, start + op.hop, -1);
    *next_window = t + 1;
  }
}

// State: a slot for each frame of the window and one more. Frame u goes into slot u mod window; whenever all
// slots have been filled, each becomes the extreme of itself and all after it. The window that ends with
// frame u is what is left of those, and the frames since (the last slot).
template <class T>
void run_extreme(const BoundWindow& op, const Frames<T>& frames, const FrameIndex& out, T* y,
                 std::byte* state) noexcept {
  T* const slots = reinterpret_cast<T*>(state);
  T* const recent = slots + op.window * op.results;
  const bool max = op.kind == Reduction::max;
  const T nothing = max ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  const auto worse = [&](T a, T b) { return max ? std::max(a, b) : std::min(a, b); };
  const BoundReduce one = over(op, 1);
  for (std::int64_t f = 0; f < op.in_frames; ++f) {
    const std::int64_t u = frames.first + f;
    if (u < 0) continue;
    const std::int64_t place = u % op.window;
    T* const slot = slots + place * op.results;
    if (!frames.is_data(u))
      std::fill_n(slot, op.results, nothing);
    else
      each_result(one, [&](std::int64_t i, std::int64_t base) {
        slot[i] = static_cast<T>(integer_sum(one, frames.x, f * op.frame_elements + base));
      });
    for (std::int64_t i = 0; i < op.results; ++i)
      recent[i] = place == 0 ? slot[i] : worse(recent[i], slot[i]);
    const std::int64_t done = u + op.before - op.window + 1, t = done / op.hop;
    if (done >= 0 && done % op.hop == 0 && t >= out.first && t < out.first + op.out_frames &&
        t < out.length) {
      T* const to = y + (t - out.first) * op.results;
      const T* const older = u >= op.window && place + 1 < op.window ? slot + op.results : nullptr;
      for (std::int64_t i = 0; i < op.results; ++i)
        to[i] = finish_integer<T>(one, older != nullptr ? worse(recent[i], older[i]) : recent[i]);
    }
    if (place + 1 < op.window) continue;
    for (std::int64_t p = op.window - 1; p-- > 0;) {
      for (std::int64_t i = 0; i < op.results; ++i)
        slots[p * op.results + i] = worse(slots[p * op.results + i], slots[(p + 1) * op.results + i]);
    }
  }
}

// State: the number of frames so far, then their sums or extremes.
template <class T>
void run_so_far(const BoundWindow& op, const Frames<T>& frames, const FrameIndex& out, T* y,
                std::byte* state) noexcept {
  constexpr bool kFloats = std::is_same_v<T, float>;
  using Sum = std::conditional_t<kFloats, kernels::FloatSum, std::int64_t>;
  static_assert(sizeof(Sum) == sizeof(std::int64_t));
  auto* const count = reinterpret_cast<std::int64_t*>(state);
  Sum* const sums = reinterpret_cast<Sum*>(state + sizeof(std::int64_t));
  const bool extreme = op.kind == Reduction::max || op.kind == Reduction::min;
  const BoundReduce one = over(op, 1);
  *count = std::clamp<std::int64_t>(
      *count, 0, (std::int64_t{1} << 60) / std::max<std::int64_t>(one.count, 1) - op.in_frames);
  for (std::int64_t f = 0; f < op.in_frames; ++f, y += op.results) {
    if (!frames.is_data(frames.first + f) || out.first + f < 0) continue;
    const T* const x = frames.x + f * op.frame_elements;
    const bool first = (*count)++ == 0;
    BoundReduce reduction = one;
    reduction.count = one.count * *count;
    if (op.affine) reduction.multiplier = mean_multiplier(op.ratio, reduction.count);
    each_result(one, [&](std::int64_t i, std::int64_t base) {
      if (first) sums[i] = Sum{};
      if constexpr (kFloats) {
        kernels::FloatSum& sum = sums[i];
        float& best = sum.sum;
        if (first && extreme) best = x[base];
        if (op.kind == Reduction::max)
          each_reduced(one, x, base, [&](float v) { best = v > best || v != v ? v : best; });
        else if (op.kind == Reduction::min)
          each_reduced(one, x, base, [&](float v) { best = v < best || v != v ? v : best; });
        else
          each_reduced(one, x, base, [&](float v) { sum.add(v); });
        const bool mean = op.kind == Reduction::mean;
        if (sum.has_rest())
          y[i] = mean ? sum.mean(reduction.count) : sum.value();
        else
          y[i] = mean ? sum.sum / static_cast<float>(reduction.count) : sum.sum;
      } else {
        if (first && extreme) sums[i] = x[base];
        if (op.kind == Reduction::max)
          each_reduced(one, x, base, [&](Sum v) { sums[i] = std::max(sums[i], v); });
        else if (op.kind == Reduction::min)
          each_reduced(one, x, base, [&](Sum v) { sums[i] = std::min(sums[i], v); });
        else
          each_reduced(one, x, base, [&](Sum v) { add_to(sums[i], v); });
        y[i] = finish_integer<T>(reduction, sums[i]);
      }
    });
  }
}

template <class T>
void run(const BoundWindow& op, const RunContext& context) noexcept {
  const FrameIndex in = op.fixed ? FrameIndex{0, op.in_frames} : context.index[op.x_tensor];
  const FrameIndex out = op.fixed ? FrameIndex{0, op.out_frames} : context.index[op.y];
  const Frames<T> frames{reinterpret_cast<const T*>(op.x.at(context)), in.first - op.back_frames, in.length};
  T* const y = reinterpret_cast<T*>(context.data[op.y]);
  std::byte* const state = op.keeps_state ? context.state + op.state : context.scratch;
  if (op.method == Method::so_far) {
    if (!op.keeps_state) std::memset(state, 0, sizeof(std::int64_t));
    return run_so_far(op, frames, out, y, state);
  }
  if constexpr (!std::is_same_v<T, float>) {
    if (op.method == Method::running_sum) return run_sum(op, frames, out, y, state);
    if (op.method == Method::running_extreme) return run_extreme(op, frames, out, y, state);
  }
  run_direct(op, frames, out, y);
}

void run_window(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundWindow&>(self);
  if (op.dtype == DType::int8)
    run<std::int8_t>(op, context);
  else if (op.dtype == DType::int16)
    run<std::int16_t>(op, context);
  else
    run<float>(op, context);
}

void reset_window(const BoundOperator& self, std::byte* state) noexcept {
  const auto& op = static_cast<const BoundWindow&>(self);
  const std::int64_t start =
      op.method == Method::so_far ? 0 : -1;  // no frames yet; no window is the next one
  std::memcpy(state + op.state, &start, sizeof start);
}

Status check_window_reduce(const Model& model, const fb::Operator& op) noexcept {
  RUNNEL_TRY(check_reduction(model, op,
                             arithmetic_of(op) == Arithmetic::tflite_windows ||
                                 arithmetic_of(op) == Arithmetic::tflite_pool_windows));
  const fb::ReduceOptions& o = *op.options_as_ReduceOptions();
  const TensorView x = input(model, op, 0), y = output(model, op);
  if (arithmetic_of(op) >= Arithmetic::pool_windows && x.dtype == DType::float32)
    return Status(Code::unsupported) << "float32, expected integers";
  if (arithmetic_of(op) == Arithmetic::tflite_pool_windows &&
      (x.scales[0] != y.scales[0] || x.zero_point() != y.zero_point()))
    return Status(Code::unsupported) << "input and output of different scales or zero points";
  const int time = o.time_axis();
  constexpr std::int32_t kMax = 1 << 20;
  if (time < 0 || time >= x.shape.rank || !is_reduced(o, time))
    return Status(Code::invalid_data) << "time axis " << time << ", expected one of the axes";
  if (x.shape.product(0, time) != 1)
    return Status(Code::unsupported) << "time after dimensions of more than 1";
  if (o.window() != kSoFar && (o.window() < 1 || o.window() > kMax))
    return Status(Code::invalid_data)
           << "a window of " << o.window() << " frames, expected 1 to " << kMax << ", or -1";
  if (o.hop() < 1 || o.hop() > kMax || (o.window() == kSoFar && o.hop() != 1))
    return Status(Code::invalid_data) << "a hop of " << o.hop() << " frames";
  if (o.before() < 0 || o.before() >= std::max<std::int32_t>(o.window(), 1))
    return Status(Code::invalid_data) << o.before() << " frames in front, expected less than the window";
  Shape expected = x.shape;
  std::int64_t per_frame = 1;
  for (int axis = 0; axis < x.shape.rank; ++axis) {
    if (!is_reduced(o, axis)) continue;
    if (axis != time) per_frame *= x.shape[axis];
    expected[axis] = 1;
  }
  if (per_frame * o.window() >= (std::int64_t{1} << 31))
    return Status(Code::unsupported) << "windows of " << per_frame * o.window()
                                     << " values, expected less than 2^31";
  const std::int64_t room = std::int64_t{x.shape[time]} + o.before() - o.window();
  expected[time] =
      o.window() == kSoFar ? x.shape[time] : static_cast<std::int32_t>(room < 0 ? 0 : room / o.hop() + 1);
  return expect_shape(y.shape, expected, "the output");
}

bool is_extreme(const fb::Operator& op) noexcept {
  return code_of(op) == OpCode::reduce_max || code_of(op) == OpCode::reduce_min;
}

Status stream_window_reduce(const Model& model, const fb::Operator& op, TimeAxes axes,
                            streaming::NodeRule& rule) noexcept {
  const fb::ReduceOptions& o = *op.options_as_ReduceOptions();
  if (axes[0] != o.time_axis())
    return Status(Code::unsupported) << "has windows along axis " << static_cast<int>(o.time_axis())
                                     << ", but time is axis " << static_cast<int>(axes[0]);
  axes.back() = axes[0];
  if (o.window() == kSoFar) {
    rule.kind = streaming::Kind::recurrent;
    return {};
  }
  rule.kind = streaming::Kind::window;
  rule.padding = streaming::Padding::skipped;
  rule.kernel = o.window();
  rule.stride = o.hop();
  rule.left = o.before();
  rule.own_history = is_extreme(op) && output(model, op).dtype != DType::float32;
  return {};
}

template <Reduction kKind>
Result<const BoundOperator*> prepare_window_reduce(PrepareContext& context) noexcept {
  const fb::Operator& op = context.op();
  const fb::ReduceOptions& o = *op.options_as_ReduceOptions();
  RUNNEL_ASSIGN(BoundWindow* const bound, allocate<BoundWindow>(context, run_window));
  bind_reduction(context, kKind, arithmetic_of(op) == Arithmetic::tflite_windows, *bound);
  if (arithmetic_of(op) == Arithmetic::pool_windows) bound->order = MeanOrder::pool;
  if (arithmetic_of(op) == Arithmetic::tflite_pool_windows) bound->order = MeanOrder::integers;
  const Shape x = context.shape(input_index(op, 0)), y = context.shape(bound->y);
  bound->x_tensor = input_index(op, 0);
  bound->window = o.window();
  bound->hop = o.hop();
  bound->before = o.before();
  bound->in_frames = x[o.time_axis()];
  bound->out_frames = y[o.time_axis()];
  bound->back_frames = context.window(0).back_frames;
  bound->frame_elements = x.product(o.time_axis() + 1, x.rank);
  bound->results = y.product(o.time_axis() + 1, y.rank);
  for (int axis = 0; axis < o.time_axis(); ++axis) bound->time_slot += is_reduced(o, axis) ? 1 : 0;
  bound->fixed = context.time_axis(bound->x_tensor) < 0;
  const bool integers = bound->dtype != DType::float32,
             stream = context.streamed() && !bound->fixed && !context.windows_apart();
  const auto results = static_cast<std::size_t>(bound->results);
  std::size_t bytes = 0;
  if (bound->window == kSoFar) {
    bound->method = Method::so_far;
    bytes = (1 + results) * sizeof(std::int64_t);
  } else if (integers && is_extreme(op) && stream) {
    bound->method = Method::running_extreme;
    bytes = static_cast<std::size_t>(bound->window + 1) * results * size_of(bound->dtype);
  } else if (integers && !is_extreme(op) && bound->hop < bound->window && stream) {
    bound->method = Method::running_sum;
    bytes = (1 + results) * sizeof(std::int64_t);
  }
  bound->keeps_state = context.streamed() && !bound->fixed && bytes > 0;
  if (bound->keeps_state) {
    bound->state = context.request_state(bytes);
    if (bound->method != Method::running_extreme) bound->reset = reset_window;
  } else if (bytes > 0) {
    context.request_scratch(bytes);
  }
  context.use_frame_index();
  return static_cast<const BoundOperator*>(bound);
}

}  // namespace

const OperatorDefinition kReduceMeanWindows{OpCode::reduce_mean,  Arithmetic::windows,
                                            "reduce_mean",        check_window_reduce,
                                            stream_window_reduce, prepare_window_reduce<Reduction::mean>};
const OperatorDefinition kReduceSumWindows{OpCode::reduce_sum,   Arithmetic::windows,
                                           "reduce_sum",         check_window_reduce,
                                           stream_window_reduce, prepare_window_reduce<Reduction::sum>};
const OperatorDefinition kReduceMaxWindows{OpCode::reduce_max,   Arithmetic::windows,
                                           "reduce_max",         check_window_reduce,
                                           stream_window_reduce, prepare_window_reduce<Reduction::max>};
const OperatorDefinition kReduceMinWindows{OpCode::reduce_min,   Arithmetic::windows,
                                           "reduce_min",         check_window_reduce,
                                           stream_window_reduce, prepare_window_reduce<Reduction::min>};
const OperatorDefinition kReduceMeanPoolWindows{OpCode::reduce_mean,  Arithmetic::pool_windows,
                                                "reduce_mean",        check_window_reduce,
                                                stream_window_reduce, prepare_window_reduce<Reduction::mean>};
const OperatorDefinition kReduceMeanTflitePoolWindows{
    OpCode::reduce_mean,  Arithmetic::tflite_pool_windows,       "reduce_mean", check_window_reduce,
    stream_window_reduce, prepare_window_reduce<Reduction::mean>};
const OperatorDefinition kReduceMeanTfliteWindows{
    OpCode::reduce_mean, Arithmetic::tflite_windows, "reduce_mean",
    check_window_reduce, stream_window_reduce,       prepare_window_reduce<Reduction::mean>};

}  // namespace runnel::ops
