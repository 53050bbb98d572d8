#include "pipeline/nodes/window_node.h"

namespace runnel::pipeline {

void WindowNode::use_windows(const Windows& windows, NodeContext& context) noexcept {
  channels_ = static_cast<std::size_t>(context.input.channels);
  values_ = static_cast<std::size_t>(windows.values);
  grid_.set_hop(windows.hop);
  context.output.kind = Kind::frames;
  context.output.dtype = DType::float32;
  context.output.channels = static_cast<std::int32_t>(windows.values);
  context.output.clock = context.input.clock.windows(windows.hop, 0, windows.length);
  context.output.labels = {};
  context.max_output = windows.most;
}

Status WindowNode::check_input(std::string_view name, std::string_view non_finite,
                               NodeContext& context) noexcept {
  checks_ = true;
  return input_.prepare(
      name, non_finite,
      static_cast<std::size_t>(context.max_input) * static_cast<std::size_t>(context.input.channels),
      context);
}

std::int64_t WindowNode::reset(std::int64_t first) noexcept {
  restart();
  return grid_.reset(first);
}

std::span<float> WindowNode::room(const Output& out) const noexcept {
  return {out.as<float>(), static_cast<std::size_t>(out.capacity) * values_};
}

Status WindowNode::process(const Block& in, Output& out) noexcept {
  const std::int64_t dropped = grid_.drop(in.count);
  out.first = grid_.index(next_window());
  std::span<const float> samples(in.as<float>() + static_cast<std::size_t>(dropped) * channels_,
                                 static_cast<std::size_t>(in.count - dropped) * channels_);
  if (checks_) {
    RUNNEL_ASSIGN(samples, input_.copy(samples, in.first + dropped, channels_));
  }
  RUNNEL_ASSIGN(const std::size_t windows, push(samples, room(out)));
  out.count = static_cast<std::int64_t>(windows);
  return {};
}

Status WindowNode::flush(Output& out) noexcept {
  out.first = grid_.index(next_window());
  out.count = static_cast<std::int64_t>(flush_windows(room(out)));
  out.end = out.count == 0;
  return {};
}

}  // namespace runnel::pipeline
