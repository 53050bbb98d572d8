#include "pipeline/nodes/host/model/shared_infer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checked.h"

namespace runnel::pipeline {

const NodeType SharedInfer::type = {
    .name = Infer::type.name,
    .help = Infer::type.help,
    .input = Infer::type.input,
    .output = Infer::type.output,
    .parameters = Infer::type.parameters,
    .make = make_node<SharedInfer>,
};

SharedInfer::~SharedInfer() {
  if (place_.group != nullptr) shared_->give_back(place_);
}

Result<const Prepared*> SharedInfer::make_prepared(NodeContext& context, const Model& loaded,
                                                   const PrepareOptions& options) noexcept {
  return shared_->prepare(loaded, context.operators, options);
}

Result<Session> SharedInfer::make_session(NodeContext&) noexcept {
  RUNNEL_ASSIGN(place_, shared_->take(prepared()));
  return place_.group->session(place_.index);
}

// A model that cannot have both sizes runs in its smallest blocks.
Status SharedInfer::prepare_larger(NodeContext& context) noexcept {
  const std::int64_t least = prepared().block(), most = larger_block(context, least);
  if (most == 0) return {};
  const Result<const Prepared*> larger =
      make_prepared(context, prepared().model(), stream_options(context, most, least, most));
  if (!larger.ok() || !prepared().shares_states_with(**larger)) return {};
  RUNNEL_ASSIGN(larger_group_, shared_->over_states_of(place_, **larger));
  start_like(context, larger_group_->session(place_.index), larger_.stream());
  larger_.ready();
  return {};
}

Result<SteppedSession> SharedInfer::make_stepped(NodeContext& context, const ModelUsage& usage) noexcept {
  RUNNEL_ASSIGN(place_, shared_->take(prepared()));
  return SteppedSession::make(place_.group->session(place_.index), usage, context.memory);
}

Status SharedInfer::prepare(NodeContext& context) noexcept {
  shared_ = context.shared;
  if (shared_ == nullptr) return Status(Code::invalid_argument, "this program shares no models");
  RUNNEL_TRY(Infer::prepare(context));
  steps_ = streamed() == nullptr;
  capacity_ = context.max_input;
  if (!steps_) {
    RUNNEL_TRY(prepare_larger(context));
    block_ = prepared().block();
    capacity_ += block_;
    if (block_ > 1) {  // frames may wait for the next step
      queue_ = static_cast<std::byte*>(
          context.memory.allocate(static_cast<std::size_t>(capacity_) * frame_bytes(), 64));
      if (queue_ == nullptr) return out_of_memory("frames that wait for a model");
    }
  }
  result_bytes_ = context.output.frame_bytes();
  results_.capacity = context.max_output;
  results_.data = static_cast<std::byte*>(
      context.memory.allocate(static_cast<std::size_t>(results_.capacity) * result_bytes_, 16));
  return results_.data == nullptr ? out_of_memory("results of a model") : Status();
}

Status SharedInfer::share_queue(int stage) noexcept {
  if (block_ > 1) return {};
  // A power of two, as buffers of one size are: queues of other formats in the same memory do not overlap.
  seat_bytes_ = std::bit_ceil(static_cast<std::size_t>(capacity_) * frame_bytes());
  // The buffers of stages are those of their outputs: these are others.
  seats_ = shared_->buffer(-1 - stage, SharedSessions::kSeats * seat_bytes_);
  if (seats_ == nullptr) return out_of_memory("frames that wait for a model");
  sit(0);
  return {};
}

std::int64_t SharedInfer::reset(std::int64_t first) noexcept {
  waiting_ = taken_ = 0;
  results_.count = 0;
  const std::int64_t next = Infer::reset(first);
  if (!steps_) larger_.reset(first);
  return next;
}

// The results of the group's runs.
void SharedInfer::hand_over(Output& out) noexcept {
  if (results_.count == 0) return;
  out.first = results_.first;
  out.count = results_.count;
  std::memcpy(out.data, results_.data, static_cast<std::size_t>(results_.count) * result_bytes_);
  results_.count = 0;
}

void SharedInfer::drop_taken() noexcept {
  if (taken_ == 0) return;
  waiting_ -= taken_;
  std::memmove(queue_, queue_ + static_cast<std::size_t>(taken_) * frame_bytes(),
               static_cast<std::size_t>(waiting_) * frame_bytes());
  taken_ = 0;
}

void SharedInfer::settle() noexcept {
  drop_taken();
  results_.count = 0;  // of a run that was not fetched: there is none between two steps
  const Session session = place_.group->sit(place_.index, 0);
  if (steps_)
    stepped().use(session);
  else
    stream().use(session);
}

void SharedInfer::queue(const std::byte* frames, std::int64_t count) noexcept {
  std::memcpy(queue_ + static_cast<std::size_t>(waiting_) * frame_bytes(), frames,
              static_cast<std::size_t>(count) * frame_bytes());
  waiting_ += count;
}

// Gives a model that runs in steps what waits, up to the next run.
void SharedInfer::take_queued() noexcept {
  while (taken_ < waiting_ && !stepped().due())
    taken_ += take(queue_ + static_cast<std::size_t>(taken_) * frame_bytes(), waiting_ - taken_);
}

void SharedInfer::step_alone(Output& out) noexcept {
  stepped().run();
  give(out);
  take_queued();
}

// At the end of a stream, blocks come without a pause in which the group could run: the session runs alone.
void SharedInfer::make_room(std::int64_t count, Output& out) noexcept {
  if (steps_) {
    while (stepped().due()) step_alone(out);
    drop_taken();
    return;
  }
  const std::int64_t over = waiting_ + count - capacity_;
  if (over <= 0) return;
  const std::int64_t run = ceil_div(over, block_) * block_;
  stream().process({.data = queue_, .count = run}, out);
  waiting_ -= run;
  std::memmove(queue_, queue_ + static_cast<std::size_t>(run) * frame_bytes(),
               static_cast<std::size_t>(waiting_) * frame_bytes());
}

Status SharedInfer::process(const Block& in, Output& out) noexcept {
  hand_over(out);
  if (in.count == 0) return {};
  drop_taken();
  const std::int64_t skipped = steps_ ? 0 : stream().skip(in.count);
  const std::int64_t count = in.count - skipped;
  make_room(count, out);
  const std::byte* const frames = in.data + static_cast<std::size_t>(skipped) * frame_bytes();
  if (!steps_) {
    queue(frames, count);
    return {};
  }
  std::int64_t done = 0;
  while (done < count && !stepped().due())
    done += take(frames + static_cast<std::size_t>(done) * frame_bytes(), count - done);
  queue(frames + static_cast<std::size_t>(done) * frame_bytes(), count - done);
  return {};
}

SessionGroup::Turn SharedInfer::load(std::size_t seat) noexcept {
  SessionGroup& runs = group();
  if (steps_) {
    stepped().use(runs.sit(place_.index, seat));
    stepped().begin_run();
    return {place_.index, prepared().block()};
  }
  large_ = larger_fits();
  ModelStream& its = large_ ? larger_.stream() : stream();
  const std::int64_t block = large_ ? larger_.frames() : block_;
  its.use(runs.sit(place_.index, seat));
  its.store(queue_ + static_cast<std::size_t>(taken_) * frame_bytes(), block);
  if (large_) stream().heard();
  taken_ += block;
  return {place_.index, block};
}

void SharedInfer::collect() noexcept {
  if (!steps_) return (large_ ? larger_.stream() : stream()).collect(results_);
  stepped().end_run();
  give(results_);
  take_queued();
}

// Runs the queued frames through the session alone: a block per call, as flush() requires, then the rest and
// what the session holds.
Status SharedInfer::flush(Output& out) noexcept {
  if (steps_) {
    if (!stepped().due()) return Infer::flush(out);
    step_alone(out);
    return {};
  }
  if (waiting_ == taken_) return Infer::flush(out);
  const std::int64_t count = std::min(block_, waiting_ - taken_);
  const Block next{.data = queue_ + static_cast<std::size_t>(taken_) * frame_bytes(), .count = count};
  taken_ += count;
  stream().process(next, out);
  return {};
}

}  // namespace runnel::pipeline
