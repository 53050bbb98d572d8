// Runs a graph: a fixed schedule and fixed buffers, known before the first sample.
//
// Each tick the source gives at most `tick` samples; every node consumes all of its input and writes into its
// own buffer, which all nodes after it read. Results do not depend on the size of the tick. A
// microcontroller calls step() in its main loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/memory.h"
#include "base/status.h"
#include "pipeline/node.h"
#include "pipeline/schedule.h"

namespace runnel::pipeline {

// What to do at a gap.
enum class OnGap : std::uint8_t {
  reset,  // all nodes are flushed and reset; indices jump by the lost samples
  zeros,  // the lost samples are replaced by zeros
};

struct ExecutorOptions {
  std::int64_t tick = 1024;  // source samples per step at most, 1 .. 2^20
  OnGap on_gap = OnGap::reset;
  Isa isa = best_isa();
  ModelLoader* models = nullptr;
  OperatorTable operators{};
  FftMaker* ffts = nullptr;
  const std::atomic<bool>* stop = nullptr;  // for sources that block; the caller of step() must check it too
  FastMemory fast{};                        // for models
  bool slack = true;  // false: models take the least memory, and shift their histories in every block
  std::int64_t (*now)() noexcept = nullptr;  // monotonic clock in nanoseconds; null: nodes are not timed
  SharedSessions* shared = nullptr;          // for nodes that share models with other graphs
  SharedWork* work = nullptr;  // buffers shared with other graphs; null: own ones. Not allowed with
                               // a join, which would need them twice
};

// Why two ends do not match, for programs that insert the missing node.
struct Mismatch {
  int stage = -1;  // the stage that refused its input
  Fix fix;
};

// Not thread-safe. Lives in the Memory it was made with.
class Executor {
 public:
  // Prepares all nodes, in order, and allocates the buffers. The nodes must outlive the executor. Errors
  // begin with the label of the node. `mismatch`, when given, is set for failures that inserting a node would
  // resolve.
  static Result<Executor*> make(std::span<const Stage> stages, const ExecutorOptions& options, Memory& memory,
                                Mismatch* mismatch = nullptr) noexcept;

  // One tick. Sets `done` after the last one, when all nodes are flushed and all sinks are complete.
  Status step(bool& done) noexcept;
  // For nodes whose results become ready between two steps: fetches them from `stage` with an empty block and
  // passes them on.
  Status deliver(int stage) noexcept;
  // Ends the stream here, as at the end of the source.
  Status end() noexcept;
  // The two halves of it, for a caller that has to do something between them: all nodes are flushed; all
  // sinks are complete. And a step without them: sets `ended` when the source has ended.
  Status flush() noexcept;
  Status finish() noexcept;
  Status advance(bool& ended) noexcept;
  // Back to the start from any state: the next sample has index 0, counters restart.
  void restart() noexcept;
  // Positions and counters, between two steps; not the nodes (base/state_archive.h).
  template <class Archive>
  void state(Archive& archive) noexcept {
    archive.value(finished_);
    archive.index(samples_);
    archive.index(lost_);
    archive.index(gaps_, lost_);
    archive.follows(next_, samples_ + lost_, "the position in the stream");
    schedule_.state(archive);
  }

  // Counters since make().
  [[nodiscard]] std::int64_t samples() const noexcept {
    return samples_;
  }                                               // from the source, without lost ones
  [[nodiscard]] double seconds() const noexcept;  // duration of these samples
  [[nodiscard]] std::int64_t lost() const noexcept { return lost_; }
  [[nodiscard]] std::int64_t gaps() const noexcept { return gaps_; }
  [[nodiscard]] std::int64_t events() const noexcept { return schedule_.events(); }
  // Nanoseconds that a stage has spent in process(); 0 without ExecutorOptions::now.
  [[nodiscard]] std::int64_t busy_nanoseconds(int stage) const noexcept { return schedule_.edge(stage).busy; }
  // The number of frames that a stage has written, and their format.
  [[nodiscard]] std::int64_t produced(int stage) const noexcept { return schedule_.edge(stage).produced; }
  [[nodiscard]] const Format& format(int stage) const noexcept { return schedule_.edge(stage).format; }
  [[nodiscard]] std::int64_t capacity(int stage) const noexcept {
    return schedule_.edge(stage).output.capacity;
  }
  // For hosts that run some of the stages in other threads.
  [[nodiscard]] Schedule& schedule() noexcept { return schedule_; }

 private:
  Status lose(std::int64_t lost) noexcept;

  Schedule schedule_;
  OnGap on_gap_ = OnGap::reset;
  std::byte* zeros_ = nullptr;
  bool finished_ = false;
  std::int64_t next_ = 0;  // index of the next source sample
  std::int64_t samples_ = 0, lost_ = 0, gaps_ = 0;
};

}  // namespace runnel::pipeline
