#include "pipeline/nodes/spectrum/stage_node.h"

namespace runnel::pipeline {

Status StageNode::start(std::string_view name, features::FrameStage& stage, bool holds_all,
                        NodeContext& context) noexcept {
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
  grid_.set_hop(stage_->step());
  return next_ = grid_.reset(first);
}

void StageNode::give(Output& out) noexcept {
  while (out.count < out.capacity &&
         stage_->pull(out.as<float>() + static_cast<std::size_t>(out.count) * dims_))
    ++out.count;
}

Status StageNode::process(const Block& in, Output& out) noexcept {
  out.first = next_;
  for (std::int64_t i = grid_.drop(in.count); i < in.count; ++i) {
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

}  // namespace runnel::pipeline
