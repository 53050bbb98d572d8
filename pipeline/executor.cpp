#include "pipeline/executor.h"

#include <algorithm>
#include <cstring>

#include "base/limits.h"
#include "pipeline/shared_work.h"

namespace runnel::pipeline {
namespace {

#ifdef __linux__
constexpr std::size_t kAlignment = 64;
#else
constexpr std::size_t kAlignment = 16;  // devices have little memory and no wider vectors
#endif
constexpr std::int64_t kMaxTick = std::int64_t{1} << 20;
constexpr std::int64_t kMaxBufferBytes = std::int64_t{1} << 31;

// The nodes to insert between two kinds that do not match; empty when there is no obvious choice.
std::string_view bridge(Kind from, Kinds to) noexcept {
  if (from == Kind::audio && takes(to, Kind::frames)) return "fbank";
  if (from == Kind::frames && takes(to, Kind::events)) return "detect";
  if (from == Kind::audio && takes(to, Kind::events)) return "fbank ! infer ! detect";
  return {};
}

// Not inlined: otherwise the message would take stack while nodes prepare.
[[gnu::noinline]] Status check_kind(const Stage& stage, std::string_view input_label,
                                    const Format& input) noexcept {
  const Kinds kinds = stage.type->input.kinds;
  if (takes(kinds, input.kind)) return {};
  Status status(Code::mismatch);
  status << input_label << " gives " << describe(input).view() << ", " << stage.label << " wants ";
  bool first = true;
  for (const Kind kind : {Kind::audio, Kind::frames, Kind::events}) {
    if (!takes(kinds, kind)) continue;
    status << (first ? "" : " or ") << name_of(kind);
    first = false;
  }
  if (const std::string_view between = bridge(input.kind, kinds); !between.empty()) {
    status << ": put `" << between << "` between them";
  }
  return status;
}

// Times and positions in all nodes are products of a source's indices, and fit up to there.
Status check_length(std::int64_t next, std::int64_t more, std::string_view label) noexcept {
  if (more <= limits::kRecordingFrames - next) return {};
  return Status(Code::invalid_argument) << label << ": the stream is longer than " << limits::kRecordingFrames
                                        << " samples, the most that it may have";
}

}  // namespace

Result<Executor*> Executor::make(std::span<const Stage> stages, const ExecutorOptions& options,
                                 Memory& memory, Mismatch* mismatch) noexcept {
  if (options.tick < 1 || options.tick > kMaxTick) {
    return Status(Code::invalid_argument)
           << "tick " << options.tick << ": expected 1 to " << kMaxTick << " samples";
  }
  if (stages.empty()) return Status(Code::invalid_argument, "the graph has no nodes");
  void* place = memory.allocate(sizeof(Executor), alignof(Executor));
  if (place == nullptr) return out_of_memory("the executor");
  auto* self = new (place) Executor();
  self->on_gap_ = options.on_gap;
  Schedule& schedule = self->schedule_;
  RUNNEL_TRY(schedule.make(stages, options.now, memory));

  for (int i = 0; i < schedule.size(); ++i) {
    const Stage& stage = schedule.stage(i);
    // A join is a source in its executor: it pulls its input streams itself.
    const bool source = stage.type->input.kinds == 0 || stage.type->joins;
    if (source != (i == 0) || stage.input >= i || (!source && stage.input < 0)) {
      return Status(Code::invalid_argument)
             << stage.label << ": stage " << i
             << " is out of order: one source first, then every node after its input";
    }
    const Schedule::Edge* input = source ? nullptr : &schedule.edge(stage.input);
    NodeContext context{.memory = memory,
                        .label = stage.label,
                        .input_label = source ? std::string_view() : schedule.stage(stage.input).label,
                        .input = source ? Format() : input->format,
                        .max_input = source ? options.tick : input->output.capacity,
                        .isa = options.isa,
                        .models = options.models,
                        .operators = options.operators,
                        .ffts = options.ffts,
                        .stop = options.stop,
                        .fast = options.fast,
                        .slack = options.slack,
                        .shared = options.shared,
                        .work = options.work,
                        .output = source ? Format() : input->format,
                        .max_output = 0,
                        .fix = {}};
    context.output.beside = 0;
    if (!source) RUNNEL_TRY(check_kind(stage, context.input_label, context.input));
    if (const Status status = stage.node->prepare(context); !status.ok()) {
      // The message of a mismatch already names both ends.
      if (status.code() != Code::mismatch) return schedule.failed(i, status);
      if (mismatch != nullptr) *mismatch = {i, context.fix};
      return status;
    }
    Schedule::Edge& edge = schedule.edge(i);
    if (stage.type->output.kinds == 0) continue;
    edge.format = context.output;
    edge.output.capacity = context.max_output;
    const auto frame_bytes = static_cast<std::int64_t>(edge.format.frame_bytes());
    if (frame_bytes < 1 || context.max_output < 0 || context.max_output > kMaxBufferBytes / frame_bytes) {
      return Status(Code::invalid_argument)
             << stage.label << ": a buffer of " << context.max_output << " frames of " << frame_bytes
             << " bytes is beyond " << kMaxBufferBytes << " bytes";
    }
    const auto bytes = static_cast<std::size_t>(context.max_output * frame_bytes);
    edge.output.data = options.work != nullptr ? options.work->buffer(i, bytes)
                                               : static_cast<std::byte*>(memory.allocate(bytes, kAlignment));
    if (edge.output.data == nullptr) return out_of_memory("the buffers between the nodes");
    if (i == 0 && options.on_gap == OnGap::zeros) {
      self->zeros_ = static_cast<std::byte*>(memory.allocate(bytes, kAlignment));
      if (self->zeros_ == nullptr) return out_of_memory("the samples in place of lost ones");
      std::memset(self->zeros_, 0, bytes);
    }
  }
  schedule.reset(0, 0);
  return self;
}

void Executor::restart() noexcept {
  finished_ = false;
  next_ = samples_ = lost_ = gaps_ = 0;
  schedule_.clear_counters();
  schedule_.reset(0, 0);
}

double Executor::seconds() const noexcept {
  const double hz = format(0).clock.hz();
  return hz > 0 ? static_cast<double>(samples_) / hz : 0;
}

Status Executor::lose(std::int64_t lost) noexcept {
  RUNNEL_TRY(check_length(next_, lost, schedule_.stage(0).label));
  const Clock& clock = format(0).clock;
  const Gap gap{next_, lost, clock.first_sample(next_), clock.first_sample(next_ + lost)};
  lost_ += lost;
  ++gaps_;
  // The source's buffer already holds the samples after the gap; they must wait until the other nodes are
  // flushed.
  Output& output = schedule_.edge(0).output;
  const Output after_gap = output;
  if (on_gap_ == OnGap::reset) {
    output.count = 0;
    RUNNEL_TRY(schedule_.flush());
  }
  RUNNEL_TRY(schedule_.gap(gap));
  next_ += lost;
  if (on_gap_ == OnGap::reset) {
    schedule_.reset(0, next_);
  } else {
    output.data = zeros_;
    for (std::int64_t done = 0; done < lost; done += output.count) {
      output.count = std::min(output.capacity, lost - done);
      output.first = gap.begin + done;
      schedule_.edge(0).produced += output.count;
      RUNNEL_TRY(schedule_.run_after(0));
    }
  }
  output = after_gap;
  return {};
}

Status Executor::step(bool& done) noexcept {
  bool ended = finished_;
  if (!finished_) RUNNEL_TRY(advance(ended));
  if (ended) RUNNEL_TRY(end());
  done = finished_;
  return {};
}

Status Executor::advance(bool& ended) noexcept {
  Output& output = schedule_.edge(0).output;
  output.count = 0;
  output.lost = 0;
  output.end = false;
  RUNNEL_TRY(schedule_.process(0, {}));
  if (output.lost > 0) RUNNEL_TRY(lose(output.lost));
  RUNNEL_TRY(check_length(next_, output.count, schedule_.stage(0).label));
  output.first = next_;
  next_ += output.count;
  samples_ += output.count;
  if (output.count > 0) RUNNEL_TRY(schedule_.run_after(0));
  ended = output.end;
  return {};
}

Status Executor::deliver(int stage) noexcept {
  Output& output = schedule_.edge(stage).output;
  output.count = 0;
  RUNNEL_TRY(schedule_.process(stage, {}));
  return output.count > 0 ? schedule_.run_after(stage) : Status();
}

Status Executor::flush() noexcept {
  schedule_.edge(0).output.count = 0;
  return schedule_.flush();
}

Status Executor::finish() noexcept {
  RUNNEL_TRY(schedule_.finish());
  finished_ = true;
  return {};
}

Status Executor::end() noexcept {
  if (finished_) return {};
  RUNNEL_TRY(flush());
  return finish();
}

}  // namespace runnel::pipeline
