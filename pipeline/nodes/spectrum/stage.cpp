#include "pipeline/nodes/spectrum/stage.h"

#include <algorithm>

#include "base/checked.h"
#include "pipeline/nodes/frame_lengths.h"

namespace runnel::pipeline {
namespace {

constexpr Port kFrames = {static_cast<Kinds>(Kind::frames), "float32"};
constexpr Parameter kDeltas[] = {
    parameter<&Deltas::window>("window", "frames", 3, 99,
                               "frames that one delta looks at, odd; half of them are look-ahead"),
    parameter<&Deltas::order>("order", "", 1, 2, "1: deltas; 2: and deltas of them"),
    switch_parameter<&Deltas::with_static>("with_static", "the features themselves in front"),
    text_parameter<&Deltas::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};
constexpr Parameter kStack[] = {
    parameter<&Stack::frames>("frames", "frames", 1, 1000, "frames next to each other"),
    parameter<&Stack::step>("step", "frames", 1, 1000, "distance of stacks"),
    switch_parameter<&Stack::pad>(
        "pad",
        "first and last frame repeated, so that there is a stack for every step; false: whole stacks only"),
    text_parameter<&Stack::non_finite>("non_finite", FiniteInput::kChoices, FiniteInput::kHelp),
};

}  // namespace

const NodeType Deltas::type = {.name = "deltas",
                               .help = "Deltas of frames over time, and deltas of deltas, edges replicated.",
                               .input = kFrames,
                               .output = kFrames,
                               .parameters = kDeltas,
                               .make = make_node<Deltas>};
const NodeType Stack::type = {.name = "stack",
                              .help = "Several frames next to each other as one (low frame rate features).",
                              .input = kFrames,
                              .output = kFrames,
                              .parameters = kStack,
                              .make = make_node<Stack>};

Status StageNode::start(std::string_view name, features::FrameStage& stage, bool holds_all,
                        PrepareContext& context) noexcept {
  stage_ = &stage;
  dims_ = stage.out_dims();
  context.output.channels = static_cast<std::int32_t>(dims_);
  if (stage.step() != 1 || stage.span() != 1) {
    context.output.clock = context.input.clock.windows(stage.step(), -stage.before(), stage.span());
  }
  context.max_output = context.max_input + (holds_all ? 0 : static_cast<std::int64_t>(stage.most_waiting()));
  return input_.prepare(name, non_finite, stage.in_dims(), context);
}

std::int64_t StageNode::reset(std::int64_t first) noexcept {
  stage_->reset();
  ended_ = false;
  next_ = ceil_div(first, stage_->step());
  skip_ = next_ * stage_->step() - first;
  return next_;
}

void StageNode::give(Output& out) noexcept {
  while (out.count < out.capacity &&
         stage_->pull(out.as<float>() + static_cast<std::size_t>(out.count) * dims_))
    ++out.count;
}

Status StageNode::process(const Block& in, Output& out) noexcept {
  out.first = next_;
  const std::int64_t dropped = std::min(skip_, in.count);
  skip_ -= dropped;
  for (std::int64_t i = dropped; i < in.count; ++i) {
    const std::size_t dims = stage_->in_dims();
    RUNNEL_ASSIGN(
        const std::span<const float> frame,
        input_.copy({in.as<float>() + static_cast<std::size_t>(i) * dims, dims}, in.first + i, dims));
    RUNNEL_TRY(stage_->push(frame.data()));
    give(out);
  }
  next_ += out.count;
  return {};
}

Status StageNode::flush(Output& out) noexcept {
  if (!ended_) stage_->finish();
  ended_ = true;
  out.first = next_;
  give(out);
  next_ += out.count;
  out.end = out.count == 0;
  return {};
}

Status Deltas::prepare(PrepareContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  RUNNEL_TRY(deltas_.init({window, order, with_static}, static_cast<std::size_t>(context.input.channels),
                          context.memory));
  return start(type.name, deltas_, false, context);
}

Status Stack::prepare(PrepareContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  RUNNEL_TRY(
      stack_.init({frames, step, pad}, static_cast<std::size_t>(context.input.channels), context.memory));
  return start(type.name, stack_, false, context);
}

}  // namespace runnel::pipeline
