// A graph on several threads.
//
// The graph is cut where an output is read in another thread. What such a cut leads to within that thread is
// a part: it has a copy of the schedule, in which only its own stages run, and a queue of what the executor
// does to them: blocks, flush, gap, reset. Each node gets exactly the calls that it gets on one thread, so
// the bits are the same whatever the placement. In the schedule of the executor, and in those of parts that
// lead on, a sender takes the place of the first stage of a part.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "pipeline/host/step_times.h"
#include "pipeline/host/threads/block_queue.h"
#include "pipeline/nodes/host/live/live_source.h"
#include "pipeline/schedule.h"

namespace runnel::pipeline {

// Used by the thread that runs the executor. The other threads run from start() to join() or the destructor.
class GraphThreads {
 public:
  // `schedule`: of an executor, between two steps; outlives this object. `thread`: of each stage, a possible
  // placement (placement.h). `depth`: messages between two threads, a power of two, at least 2. `at_once`: a
  // thread is woken for every block, not for several, because the stream has its own pace. `live`: the source
  // if it is a device, else null. Errors: out_of_memory; io_error when the system gives no more threads. Then
  // the schedule is as it was.
  static Result<std::unique_ptr<GraphThreads>> start(Schedule& schedule, const std::vector<int>& thread,
                                                     std::size_t depth, bool at_once, const LiveSource* live);
  // Without join(), whatever waits in the queues is dropped.
  ~GraphThreads();
  GraphThreads(const GraphThreads&) = delete;
  GraphThreads& operator=(const GraphThreads&) = delete;

  // Before each step; the numbers of steps rise.
  void begin_step(const Moment& moment) noexcept;
  // True as soon as another thread has failed.
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  // Waits until the threads have done everything that was sent to them, and ends them. Then the schedule runs
  // all stages again, and its counters include theirs. `own`: the outcome of the last step in this thread.
  // Returns the earliest failure of all, by steps of the source and then by stages.
  Status join(const Status& own) noexcept;
  // The same without caring for what waits in the queues: it is dropped.
  void drop() noexcept;

  // Nanoseconds that a stage in another thread has been busy since start(), after its latest message.
  [[nodiscard]] std::int64_t busy_nanoseconds(int stage) const noexcept;
  // Of a stage that runs in another thread: from when the samples were there to the end of the work of its
  // part. Null: it runs in this thread. To be read after join().
  [[nodiscard]] const StepTimes* times(int stage) const noexcept;

 private:
  struct Part;
  struct Thread;

  GraphThreads(Schedule& schedule, const LiveSource* live);
  Status make_parts(const std::vector<int>& thread, std::size_t depth, bool at_once);
  void fill_places(Schedule& schedule, int part);
  Status start_threads();
  void serve(Thread& thread) noexcept;
  void run(Part& part) noexcept;
  void announce(int thread) noexcept;
  void end_threads() noexcept;

  Schedule& schedule_;
  const LiveSource* live_ = nullptr;
  std::vector<int> part_of_;                  // of each stage; 0: this thread's
  std::vector<Node*> nodes_;                  // of each stage, as the graph has them
  std::vector<std::unique_ptr<Part>> parts_;  // every one after the one that leads to it; [0]: this thread's
  std::vector<std::unique_ptr<Thread>> threads_;
  std::unique_ptr<std::atomic<std::int64_t>[]> busy_;  // of each stage
  std::atomic<bool> failed_{false};
  std::atomic<bool> dropping_{false};  // messages are dropped
  std::atomic<bool> ending_{false};    // threads that have nothing to do end
};

}  // namespace runnel::pipeline
