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

Status Levels::prepare(PrepareContext& context) noexcept {
  if (context.input.channels != 1) return wants_mono(context, context.label);
  const std::int64_t rate = context.input.clock.rate();
  features::FrameGrid grid;
  grid.length = samples_of(rate, frame_length);
  grid.shift = samples_of(rate, frame_shift);
  RUNNEL_TRY(input_.prepare(type.name, non_finite, static_cast<std::size_t>(context.max_input), context));
  RUNNEL_TRY(levels_.init(grid, context.isa, context.memory));
  grid_.set_hop(grid.shift);
  context.output.kind = Kind::frames;
  context.output.dtype = DType::float32;
  context.output.channels = features::Levels::kDims;
  context.output.clock = context.input.clock.windows(grid.shift, 0, grid.length);
  context.max_output =
      static_cast<std::int64_t>(levels_.max_frames(static_cast<std::size_t>(context.max_input)));
  return {};
}

std::int64_t Levels::reset(std::int64_t first) noexcept {
  levels_.reset();
  return grid_.reset(first);
}

Status Levels::process(const Block& in, Output& out) noexcept {
  const std::int64_t dropped = grid_.drop(in.count);
  out.first = grid_.index(levels_.next_frame());
  RUNNEL_ASSIGN(const std::span<const float> samples,
                input_.copy({in.as<float>() + dropped, static_cast<std::size_t>(in.count - dropped)},
                            in.first + dropped, 1));
  out.count = static_cast<std::int64_t>(
      levels_
          .push(samples, {out.as<float>(), static_cast<std::size_t>(out.capacity) * features::Levels::kDims})
          .frames);
  return {};
}

Status Levels::flush(Output& out) noexcept {
  out.first = grid_.index(levels_.next_frame());
  out.count = static_cast<std::int64_t>(
      levels_.flush({out.as<float>(), static_cast<std::size_t>(out.capacity) * features::Levels::kDims}));
  out.end = out.count == 0;
  return {};
}

}  // namespace runnel::pipeline
