#include "pipeline/nodes/host/model/live_infer.h"

#include <algorithm>
#include <cstring>

namespace runnel::pipeline {

// Replaces `infer` under the same name.
const NodeType LiveInfer::type = [] {
  NodeType copy = Infer::type;
  copy.make = make_node<LiveInfer>;
  return copy;
}();

// A model that cannot have both sizes runs in its smallest blocks.
Status LiveInfer::prepare_larger(NodeContext& context) noexcept {
  if (streamed() == nullptr) return {};
  const std::int64_t least = prepared().block(), most = larger_block(context, least);
  if (most == 0) return {};
  const Result<const Prepared*> larger =
      make_prepared(context, prepared().model(), stream_options(context, most, least, most));
  if (!larger.ok() || !prepared().shares_states_with(**larger)) return {};
  RUNNEL_ASSIGN(Workspace* const workspace, Workspace::make(**larger, context.memory));
  RUNNEL_ASSIGN(const Session session, Session::make(**larger, *workspace, stream().session()));
  start_like(context, session, larger_.stream());
  larger_.ready();
  return {};
}

Status LiveInfer::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(Infer::prepare(context));
  RUNNEL_TRY(prepare_larger(context));
  frame_bytes_ = context.output.frame_bytes();
  normal_ = context.max_output;
  // Room for as many skipped frames.
  context.max_output = 2 * normal_ + 1;
  return {};
}

// Resets the model; returns the index of its next output frame.
std::int64_t LiveInfer::restart(std::int64_t first) noexcept {
  const std::int64_t next = Infer::reset(first);
  larger_.reset(first);
  return next;
}

std::int64_t LiveInfer::reset(std::int64_t first) noexcept {
  lagging_ = false;
  next_ = restart(first);
  return next_;
}

bool LiveInfer::fill_up(std::int64_t end, Output& out) noexcept {
  const std::int64_t count = std::clamp<std::int64_t>(end - next_, 0, out.capacity);
  std::memset(out.data, 0, static_cast<std::size_t>(count) * frame_bytes_);
  out.first = next_;
  out.count = count;
  next_ += count;
  skipped_ += count;
  return next_ >= end;
}

void LiveInfer::count(const Output& out) noexcept {
  if (out.count > 0) next_ = out.first + out.count;
}

Status LiveInfer::process(const Block& in, Output& out) noexcept {
  if (!skip_blocks_ && lagging_) {
    // As many as are missing, but leaving room for the model's output.
    const bool all = fill_up(std::min(resume_, next_ + out.capacity - normal_), out);
    lagging_ = !all || next_ < resume_;
    if (lagging_) resume_ = restart(in.first + in.count);
  } else if (skip_blocks_) {
    lagging_ = true;
    resume_ = restart(in.first + in.count);
    fill_up(resume_, out);
  }
  if (lagging_) return {};
  if (larger_.frames() > 0)
    larger_.process(stream(), frame_bytes(), in, out);
  else
    RUNNEL_TRY(Infer::process(in, out));
  count(out);
  return {};
}

Status LiveInfer::flush(Output& out) noexcept {
  if (lagging_ && next_ < resume_) {
    out.end = false;
    if (!fill_up(resume_, out)) return {};
  }
  if (out.count > 0) return {};
  RUNNEL_TRY(Infer::flush(out));
  count(out);
  return {};
}

Text LiveInfer::note() const noexcept {
  Text text = Infer::note();
  if (skipped_ > 0)
    text << (text.view().empty() ? "" : "; ") << "processing did not keep up: " << skipped_
         << " frames of the model were skipped (overload=skip-inference)";
  return text;
}

}  // namespace runnel::pipeline
