#include "pipeline/nodes/sensor/framing.h"

#include <algorithm>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Framing::window>("window", "",
                                     "length of a window: input frames, or a time (2.56s, 40ms)"),
    text_parameter<&Framing::hop>("hop", "", "from window to window, likewise"),
};

}  // namespace

const NodeType Framing::type = {
    .name = "framing",
    .help = "Cuts a stream of any number of channels into windows, each of which becomes one frame.",
    .input = {Kind::audio | Kind::frames, "float32"},
    .output = {static_cast<Kinds>(Kind::frames), "float32, window x channels values"},
    .parameters = kParameters,
    .make = make_node<Framing>,
};

Status Framing::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  RUNNEL_ASSIGN(const std::int64_t length, read_length("window", window, context.input.clock));
  RUNNEL_ASSIGN(const std::int64_t distance, read_length("hop", hop, context.input.clock));
  const std::int64_t channels = context.input.channels;
  RUNNEL_TRY(framer_.init({.length = length * channels,
                           .shift = distance * channels,
                           .placement = features::FramePlacement::inside},
                          context.memory));
  use_windows({.length = length,
               .hop = distance,
               .values = length * channels,
               .most = context.max_input / distance + 1},
              context);
  return {};
}

Result<std::size_t> Framing::push(std::span<const float> samples, std::span<float> out) noexcept {
  const auto length = static_cast<std::size_t>(framer_.grid().length);
  for (std::size_t windows = 0;;) {
    while (const float* frame = framer_.frame()) {
      std::copy_n(frame, length, out.data() + windows++ * length);
      framer_.advance();
    }
    if (samples.empty()) return windows;
    const std::span<float> room = framer_.room();
    const std::size_t count = std::min(room.size(), samples.size());
    std::copy_n(samples.begin(), count, room.begin());
    framer_.written(count);
    samples = samples.subspan(count);
  }
}

}  // namespace runnel::pipeline
