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

Status Framing::prepare(PrepareContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  channels_ = context.input.channels;
  RUNNEL_ASSIGN(const std::int64_t length, read_length("window", window, context.input.clock));
  RUNNEL_ASSIGN(const std::int64_t distance, read_length("hop", hop, context.input.clock));
  grid_.set_hop(distance);
  RUNNEL_TRY(framer_.init({.length = length * channels_,
                           .shift = distance * channels_,
                           .placement = features::FramePlacement::inside},
                          context.memory));
  context.output.kind = Kind::frames;
  context.output.channels = static_cast<std::int32_t>(length * channels_);
  context.output.clock = context.input.clock.windows(distance, 0, length);
  context.output.labels = {};
  context.max_output = context.max_input / distance + 1;
  return {};
}

std::int64_t Framing::reset(std::int64_t first) noexcept {
  framer_.reset();
  return grid_.reset(first);
}

Status Framing::process(const Block& in, Output& out) noexcept {
  const std::int64_t dropped = grid_.drop(in.count);
  out.first = grid_.index(framer_.next_frame());
  std::span<const float> samples(in.as<float>() + dropped * channels_,
                                 static_cast<std::size_t>((in.count - dropped) * channels_));
  const auto length = static_cast<std::size_t>(framer_.grid().length);
  for (;;) {
    while (const float* frame = framer_.frame()) {
      std::copy_n(frame, length, out.as<float>() + static_cast<std::size_t>(out.count++) * length);
      framer_.advance();
    }
    if (samples.empty()) return {};
    const std::span<float> room = framer_.room();
    const std::size_t count = std::min(room.size(), samples.size());
    std::copy_n(samples.begin(), count, room.begin());
    framer_.written(count);
    samples = samples.subspan(count);
  }
}

}  // namespace runnel::pipeline
