#include "inference/model/usage.h"

#include <algorithm>

namespace runnel {
namespace {

constexpr std::int64_t kMaxFrames = 1 << 24;

Status bad() noexcept { return Status(Code::invalid_data) << "usage "; }

// "'input' [1,576]"
Text named(const Model& model, int tensor) noexcept {
  Text text;
  if (const std::string_view name = model.tensor_name(tensor); !name.empty())
    text << '\'' << name << "' [";
  else
    text << '#' << tensor << " [";
  const Shape shape = model.tensor(tensor).shape;
  for (int axis = 0; axis < shape.rank; ++axis) text << (axis > 0 ? "," : "") << shape[axis];
  text << ']';
  return text;
}

int leading(const Shape& shape) noexcept { return shape.rank >= 2 && shape[0] == 1 ? 1 : 0; }

int position_of(std::span<const std::int32_t> ports, std::int32_t tensor) noexcept {
  const auto found = std::find(ports.begin(), ports.end(), tensor);
  return found == ports.end() ? -1 : static_cast<int>(found - ports.begin());
}

bool same_numbers(const TensorView& a, const TensorView& b) noexcept {
  return a.dtype == b.dtype && a.shape.elements() == b.shape.elements() &&
         std::equal(a.exponents.begin(), a.exponents.end(), b.exponents.begin(), b.exponents.end()) &&
         std::equal(a.scales.begin(), a.scales.end(), b.scales.begin(), b.scales.end()) &&
         a.zero_point() == b.zero_point();
}

// The one input that is no state.
Status find_input(const Model& model, ModelUsage& usage) noexcept {
  std::size_t free = 0;
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    int given = 0;
    for (std::uint32_t k = 0; usage.pairs != nullptr && k < usage.pairs->size(); ++k)
      given += usage.pairs->Get(k)->input() == model.inputs()[i] ? 1 : 0;
    if (given > 1)
      return bad() << name_of(usage.kind) << ": input " << named(model, model.inputs()[i]).view()
                   << " takes the state of " << given << " outputs, expected one";
    if (given == 1) continue;
    if (free++ == 0) usage.input = static_cast<int>(i);
  }
  if (free == 1) return {};
  Status status(Code::unsupported);
  status << "usage " << name_of(usage.kind) << ": " << free
         << " inputs take no state, expected one, which takes the stream; the inputs are";
  for (const std::int32_t input : model.inputs()) status << ' ' << named(model, input).view();
  return status << "; pair the others with outputs (import --state OUT=IN)";
}

Status check_pairs(const Model& model, const ModelUsage& usage) noexcept {
  for (std::uint32_t k = 0; usage.pairs != nullptr && k < usage.pairs->size(); ++k) {
    const fb::StatePair& pair = *usage.pairs->Get(k);
    if (position_of(model.outputs(), pair.output()) < 0 || position_of(model.inputs(), pair.input()) < 0) {
      return bad() << "step: state from tensor " << pair.output() << " to " << pair.input()
                   << ", expected an output and an input of the model";
    }
    if (!same_numbers(model.tensor(pair.output()), model.tensor(pair.input()))) {
      return bad() << "step: state from " << named(model, pair.output()).view() << " to "
                   << named(model, pair.input()).view() << ", expected the same type, scale and size";
    }
  }
  return {};
}

int axis_of(const Shape& shape, std::int64_t frames) noexcept {
  for (int axis = leading(shape); axis < shape.rank; ++axis) {
    if (shape[axis] == frames) return axis;
  }
  return -1;
}

// How many frames the input takes, when the file does not say.
std::int64_t frames_left_open(const Shape& shape, std::int64_t context, std::int64_t values) noexcept {
  if (values > 0) return shape.elements() % values == 0 ? shape.elements() / values : 0;
  const int first = leading(shape);
  const bool frames_first = shape.rank - first >= 2 || context > 0;
  return frames_first && shape.rank > first ? shape[first] : 1;
}

Status place_frames(const Model& model, ModelUsage& usage, std::int64_t values) noexcept {
  const int tensor = model.inputs()[static_cast<std::size_t>(usage.input)];
  const TensorView view = model.tensor(tensor);
  const int planned = model.plan() == nullptr
                          ? -1
                          : model.plan()->tensors()->Get(static_cast<std::uint32_t>(tensor))->time_axis();
  Shape shape = view.shape;
  if (usage.frames == 0)
    usage.frames =
        planned >= 0 ? shape[planned] : frames_left_open(shape, usage.context + usage.look_ahead, values);
  if (planned >= 0) {
    usage.time_axis = planned;  // and of any length
    shape[planned] = static_cast<std::int32_t>(usage.frames);
  } else {
    usage.time_axis = axis_of(shape, usage.frames);
  }
  const bool flat = usage.time_axis < 0;
  if (usage.frames < 1 ||
      (flat && (shape.rank - leading(shape) > 1 || shape.elements() % usage.frames != 0))) {
    Status status(Code::mismatch);
    status << "usage " << name_of(usage.kind) << ": ";
    if (usage.frames < 1)
      return status << "input " << named(model, tensor).view() << " is no whole number of frames of "
                    << values << " values";
    status << usage.frames << " frames";
    if (usage.context > 0) status << " (" << usage.context << " of them context)";
    if (usage.look_ahead > 0) status << " (" << usage.look_ahead << " of them look-ahead)";
    return status << " do not fit input " << named(model, tensor).view()
                  << ", expected one of its dimensions to have them";
  }
  usage.layout =
      flat ? FrameLayout{1, static_cast<std::size_t>(shape.elements() / usage.frames) * size_of(view.dtype)}
           : FrameLayout::of(shape, usage.time_axis, view.dtype);
  usage.frame_values = shape.elements() / usage.frames;
  return {};
}

Status read_numbers(const fb::Pipeline& pipeline, ModelUsage& usage) noexcept {
  const std::string_view name = name_of(usage.kind);
  const struct {
    std::string_view what;
    std::int64_t value;
    bool allowed;
  } numbers[] = {
      {"window", pipeline.window(), usage.kind == UsageKind::window || usage.kind == UsageKind::whole},
      {"hop", pipeline.hop(), usage.kind == UsageKind::window},
      {"context", pipeline.context(), usage.kind == UsageKind::step},
      {"step", pipeline.step(), usage.kind == UsageKind::step},
      {"look-ahead", pipeline.look_ahead(), usage.kind == UsageKind::step},
      {"output", pipeline.output_frames(), usage.kind == UsageKind::step}};
  for (const auto& number : numbers) {
    if (number.value < 0 || number.value > kMaxFrames)
      return bad() << name << ": " << number.what << " of " << number.value << " frames, expected 0 to "
                   << kMaxFrames;
    if (number.value > 0 && !number.allowed)
      return bad() << name << ": a " << number.what << " of " << number.value
                   << " frames, which belongs to another usage";
  }
  usage.context = pipeline.context();
  usage.look_ahead = pipeline.look_ahead();
  usage.output_frames = pipeline.output_frames();
  usage.frames = usage.kind == UsageKind::step && pipeline.step() > 0
                     ? pipeline.step() + usage.context + usage.look_ahead
                     : pipeline.window();
  usage.pairs = pipeline.states();
  if (usage.pairs != nullptr && usage.pairs->size() > 0 && usage.kind != UsageKind::step)
    return bad() << name << ": state from outputs to inputs, which belongs to usage step";
  return {};
}

}  // namespace

std::string_view name_of(UsageKind usage) noexcept {
  switch (usage) {
    case UsageKind::stream:
      return "stream";
    case UsageKind::step:
      return "step";
    case UsageKind::window:
      return "window";
    case UsageKind::whole:
      return "whole";
  }
  return "unknown";
}

Result<ModelUsage> usage_of(const Model& model, std::int64_t values) noexcept {
  ModelUsage usage;
  const fb::Pipeline* pipeline = model.pipeline();
  if (pipeline != nullptr) {
    usage.kind = native(pipeline->usage());
    RUNNEL_TRY(read_numbers(*pipeline, usage));
  } else {
    usage.kind = model.plan() != nullptr ? UsageKind::stream : UsageKind::whole;
  }
  if (!usage.stepped()) return usage;
  RUNNEL_TRY(check_pairs(model, usage));
  RUNNEL_TRY(find_input(model, usage));
  RUNNEL_TRY(place_frames(model, usage, values));
  switch (usage.kind) {
    case UsageKind::step:
      usage.advance = usage.frames - usage.context - usage.look_ahead;
      break;
    case UsageKind::window:
      usage.advance = pipeline->hop() > 0 ? pipeline->hop() : usage.frames;
      break;
    default:
      usage.advance = 1;
      break;  // clips lie on the grid of the frames
  }
  if (usage.advance < 1)
    return bad() << "step: a context of " << usage.context << " frames and a look-ahead of "
                 << usage.look_ahead << " in an input of " << usage.frames << ", expected room for new ones";
  if (usage.output_frames > 0 && (usage.advance % usage.output_frames != 0))
    return bad() << "step: " << usage.output_frames << " frames come out of " << usage.advance
                 << ", expected a divisor of them";
  return usage;
}

int output_time_axis(const Model& model, const ModelUsage& usage, int tensor) noexcept {
  if (usage.kind != UsageKind::step) return -1;
  const Shape shape = model.tensor(tensor).shape;
  return shape.rank - leading(shape) < 2
             ? -1
             : axis_of(shape, usage.output_frames > 0 ? usage.output_frames : usage.advance);
}

}  // namespace runnel
