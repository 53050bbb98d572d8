// Runs an executor on as many threads as pay off.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/executor.h"
#include "pipeline/host/step_times.h"
#include "pipeline/host/threads/graph_threads.h"
#include "pipeline/host/threads/placement.h"

namespace runnel::pipeline {

// The first steps run on one thread and are measured. Then the stages are placed by what they cost, if that
// promises to be faster; and if it is not, because other programs need the cores, they come back. The state
// of a stage is in its node, so it can change its thread between any two steps, and the bits are the same.
class ThreadedRun {
 public:
  struct Options {
    int threads = 1;  // at most
    // The thread of each stage from step `from` on, instead of a measured placement. Empty: none.
    std::vector<int> placement;
    std::int64_t from = 0;
    const LiveSource* live = nullptr;              // the source, when it is a device
    bool paced = false;                            // the stream has its own pace
    std::function<void(std::string_view)> note{};  // for the user; may be empty
  };
  // `with`: of each stage, as in Stages. `executor` outlives this object. Error: invalid_argument for a
  // placement that is not possible.
  static Result<std::unique_ptr<ThreadedRun>> make(Executor& executor, std::vector<int> with,
                                                   Options options);

  // One tick, or, with `stop`, the end of the stream here. `done` after the last one. `skip_models`:
  // LiveInfer::skip; while on one thread, the caller's task.
  Status step(bool stop, bool skip_models, bool& done);
  // Call after each step with the time that it took in this thread, without waiting for the source.
  void took(std::int64_t nanoseconds);
  // The executor goes back to its start: whatever is under way is dropped.
  void restart() noexcept;

  [[nodiscard]] bool on_several_threads() const noexcept { return running_ != nullptr; }
  // The most threads that ran at once.
  [[nodiscard]] int most_threads() const noexcept { return most_threads_; }
  // Nanoseconds that a stage was busy in other threads and that the executor does not know yet.
  [[nodiscard]] std::int64_t busy_nanoseconds(int stage) const noexcept {
    return running_ == nullptr ? 0 : running_->busy_nanoseconds(stage);
  }
  // Of a sink, with a live source: from when samples were there to the end of their step in the thread of the
  // sink. Complete when the run is over.
  [[nodiscard]] const StepTimes& times(int stage) const { return *times_[static_cast<std::size_t>(stage)]; }
  // Messages that may wait between two threads.
  [[nodiscard]] static std::size_t depth(bool live) noexcept;

 private:
  // A stretch of steps that is measured. The fastest of several counts, because other programs interrupt.
  struct Block {
    std::int64_t steps = 0, nanoseconds = 0;  // so far
    int blocks = 0;                           // complete
    double best = 0;                          // nanoseconds of a step in the fastest of them
  };
  ThreadedRun(Executor& executor, std::vector<int> with, Options options);
  void consider();
  void judge();
  void begin_block();
  void end_block();
  void stop_measuring();
  [[nodiscard]] double stream_seconds() const;
  [[nodiscard]] bool too_small() const;
  [[nodiscard]] bool long_enough(std::int64_t least_steps) const;
  void start(const std::vector<int>& thread);
  Status join(const Status& own);

  Executor& executor_;
  Options options_;
  Stages stages_;
  std::unique_ptr<GraphThreads> running_;
  std::vector<std::unique_ptr<StepTimes>> times_;  // of sinks
  std::int64_t step_ = 0;
  int most_threads_ = 1;
  int processors_ = 1;
  bool measuring_ = false;
  Block block_;
  std::vector<std::int64_t> busy_, produced_;   // of each stage at the start of the block
  std::int64_t waited_ = 0;                     // by the source, at its start
  std::int64_t (*clock_)() noexcept = nullptr;  // of the executor
  std::int64_t next_ = 0;                       // the step at which to measure or to judge next; -1: never
  double one_ = 0;                              // nanoseconds of a step on one thread
  bool ended_ = false;
};

}  // namespace runnel::pipeline
