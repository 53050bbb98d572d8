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

// Works on recordings, one at a time; each thread has one of its own.
class Worker {
 public:
  virtual ~Worker() = default;
  // A recording that fails is an outcome, too. Of a worker that was told to stop, nothing is used.
  virtual Outcome process(const Recording& recording) = 0;
  // What process() wrote for this recording beside its outcome is not to be kept.
  virtual void forget(const Recording&) {}
};
using MakeWorker = std::function<std::unique_ptr<Worker>()>;

// Where a run stands.
struct ProgressState {
  std::int64_t recordings = 0, of = 0, failures = 0;
  double audio_seconds = 0, seconds = 0;  // the latter since this run began
  double share = 0;                       // of the cost, finished: 0 .. 1
  double share_before = 0;                // that was finished when this run began
};

struct RunOptions {
  unsigned jobs = 0;              // threads; 0: one for each processor
  bool strict = false;            // the first recording that fails ends the run
  SpareThreads* spare = nullptr;  // told of every thread that finds no recording any more; may be null
  const std::atomic<bool>* stop = nullptr;  // set from elsewhere: what is finished is kept
  // Called about ten times a second, on the calling thread. May be empty.
  std::function<void(const ProgressState&)> progress{};
};

// Takes the outcomes in order. A failure of it ends the run.
using Take = std::function<Status(const Recording&, const Outcome&)>;

// Works through recordings[first..]. Holds at most 4096 outcomes, and 64 MiB and one for each thread, that
// wait for an earlier one. Errors: those of `take`; with `strict` that of the recording; io_error when it was
// stopped.
Status work(const Recordings& recordings, std::size_t first, const MakeWorker& make,
            const RunOptions& options, const Take& take);

// All of it: works on what `output` lacks and completes it. Errors: those of work(); then a later run can
// resume.
Status run(RunOutput& output, const MakeWorker& make, const RunOptions& options);

// A file that changed under the hands of `worker` is a failure: checks in front and after.
Outcome process_checked(Worker& worker, const Recording& recording);

}  // namespace runnel::batch
