#include "pipeline/nodes/audio/preemphasis.h"

#include "pipeline/nodes/audio/sample_blocks.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    parameter<&Preemphasis::coefficient>("coefficient", "", 0, 1,
                                         "c in x[i] - c x[i-1]; the sample before the stream is 0"),
    text_parameter<&Preemphasis::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};

}  // namespace

const NodeType Preemphasis::type = {.name = "preemphasis",
                                    .help = "Pre-emphasis of the whole stream: x[i] - c x[i-1].",
                                    .input = kAnyAudio,
                                    .output = kAnyAudio,
                                    .parameters = kParameters,
                                    .make = make_node<Preemphasis>};

Status Preemphasis::prepare(NodeContext& context) noexcept {
  channels_ = keep_format(context);
  RUNNEL_TRY(input_.prepare(type.name, non_finite, 0, context));
  return filter_.init(coefficient, channels_, context.memory);
}

std::int64_t Preemphasis::reset(std::int64_t first) noexcept {
  filter_.reset();
  return first;
}

Status Preemphasis::process(const Block& in, Output& out) noexcept {
  const std::span<float> samples = same_place(in, out, channels_);
  RUNNEL_TRY(input_.copy_to(samples.data(), samples_of(in, channels_), in.first, channels_));
  filter_.apply(samples);
  return {};
}

}  // namespace runnel::pipeline
