#include "pipeline/nodes/sensor/levels.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&Levels::frame_length>("frame_length", "ms", 0.01, 100000, "length of a frame"),
    parameter<&Levels::frame_shift>("frame_shift", "ms", 0.01, 100000, "from frame to frame"),
    text_parameter<&Levels::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};

std::int64_t samples_of(std::int64_t rate, float milliseconds) noexcept {
  return static_cast<std::int64_t>(static_cast<double>(rate) * static_cast<double>(milliseconds) / 1000 +
                                   0.5);
}

}  // namespace

const NodeType Levels::type = {
    .name = "levels",
    .help = "Log energy, RMS, peak and zero crossings of frames.",
    .input = {static_cast<Kinds>(Kind::audio), "float32, 1 channel"},
    .output = {static_cast<Kinds>(Kind::frames), "float32: ln of the energy, RMS, peak, zero crossings"},
    .parameters = kParameters,
    .make = make_node<Levels>,
};

Status Levels::prepare(NodeContext& context) noexcept {
  if (context.input.channels != 1) return wants_mono(context, context.label);
  const std::int64_t rate = context.input.clock.rate();
  features::FrameGrid grid;
  grid.length = samples_of(rate, frame_length);
  grid.shift = samples_of(rate, frame_shift);
  RUNNEL_TRY(check_input(type.name, non_finite, context));
  RUNNEL_TRY(levels_.init(grid, context.isa, context.memory));
  use_windows(
      {.length = grid.length,
       .hop = grid.shift,
       .values = features::Levels::kDims,
       .most = static_cast<std::int64_t>(levels_.max_frames(static_cast<std::size_t>(context.max_input)))},
      context);
  return {};
}

}  // namespace runnel::pipeline
