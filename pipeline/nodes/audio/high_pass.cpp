#include "pipeline/nodes/audio/high_pass.h"

#include "pipeline/nodes/audio/sample_blocks.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&HighPass::cutoff>("cutoff", "Hz", 0.001, 384000, "-3 dB there, below half the sample rate"),
    parameter<&HighPass::order>("order", "", 1, 2, "1: 6 dB per octave; 2: 12 dB per octave"),
    text_parameter<&HighPass::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};

}  // namespace

const NodeType HighPass::type = {.name = "highpass",
                                 .help = "Butterworth high-pass filter: removes an offset and rumble.",
                                 .input = kAnyAudio,
                                 .output = kAnyAudio,
                                 .parameters = kParameters,
                                 .make = make_node<HighPass>};

Status HighPass::prepare(NodeContext& context) noexcept {
  channels_ = keep_format(context);
  RUNNEL_TRY(input_.prepare(type.name, non_finite, 0, context));
  return filter_.init({.cutoff_hz = static_cast<double>(cutoff),
                       .rate_hz = static_cast<double>(context.input.clock.rate()),
                       .order = order},
                      channels_, context.memory);
}

std::int64_t HighPass::reset(std::int64_t first) noexcept {
  filter_.reset();
  return first;
}

Status HighPass::process(const Block& in, Output& out) noexcept {
  const std::span<float> samples = same_place(in, out, channels_);
  RUNNEL_TRY(input_.copy_to(samples.data(), samples_of(in, channels_), in.first, channels_));
  filter_.apply(samples);
  return {};
}

}  // namespace runnel::pipeline
