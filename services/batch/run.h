// Many recordings, several threads, one output in the order of the list.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "services/batch/outcome.h"
#include "services/batch/recordings/recordings.h"
#include "services/batch/run_output.h"
#include "services/batch/spare_threads.h"

namespace runnel::batch {

// Processes recordings, one at a time; each thread has its own worker.
class Worker {
 public:
  virtual ~Worker() = default;
  // A failed recording is an outcome, too. The outcome of a worker that was told to stop is not used.
  virtual Outcome process(const Recording& recording) = 0;
  // Discards everything that process() wrote for this recording besides its outcome.
  virtual void forget(const Recording&) {}
};
using MakeWorker = std::function<std::unique_ptr<Worker>()>;

// The progress of a run.
struct ProgressState {
  std::int64_t recordings = 0, of = 0, failures = 0;
  double audio_seconds = 0, seconds = 0;  // the latter since this run began
  double share = 0;                       // share of the cost that is finished: 0 .. 1
  double share_before = 0;                // share that was finished when this run began
};

struct RunOptions {
  unsigned jobs = 0;              // threads; 0: one for each processor
  bool strict = false;            // the first failed recording ends the run
  SpareThreads* spare = nullptr;  // gets every thread that has no recording left; may be null
  const std::atomic<bool>* stop =
      nullptr;  // set by another thread or a signal handler: finished work is kept
  // Called about ten times a second, on the calling thread. May be empty.
  std::function<void(const ProgressState&)> progress{};
};

// Takes the outcomes in order. Its failure ends the run.
using Take = std::function<Status(const Recording&, const Outcome&)>;

// Processes recordings[first..]. At most 4096 outcomes wait for an earlier one, with at most 64 MiB plus one
// outcome per thread. Errors: those of `take`; with `strict` that of the recording; io_error when it was
// stopped.
Status work(const Recordings& recordings, std::size_t first, const MakeWorker& make,
            const RunOptions& options, const Take& take);

// The whole run: processes the recordings that `output` lacks and completes it. Errors: those of work(); a
// later run can then resume.
Status run(RunOutput& output, const MakeWorker& make, const RunOptions& options);

// The outcome of a recording that cannot be processed.
Outcome failure_of(const Recording& recording, const Status& status);

// Checks the file before and after `worker` reads it: a change in between is a failure.
Outcome process_checked(Worker& worker, const Recording& recording);

}  // namespace runnel::batch
