// A worker of a queue of recordings: its threads, and the desk (desk.h) that decides what they do.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "services/batch/run.h"
#include "services/fleet/recordings/desk.h"

namespace runnel::fleet {

struct QueueRunOptions {
  DeskOptions desk;
  batch::RunOptions run;                        // without `strict`; its progress is that of the whole queue
  bool wait = false;                            // the end of the queue does not end the run
  std::function<void(const std::string&)> say;  // lines for people; may be empty
};

struct QueueRunEnd {
  bool stopped = false;    // by RunOptions::stop; what was under way is given back
  QueueState state;        // of the queue at the end
  std::int64_t apart = 0;  // recordings that this worker set apart
};

// Processes recordings until the queue is empty, those of all workers included, or until it is stopped. A
// server that is away is waited for. Errors: of the output, whose finished part can be continued.
Result<QueueRunEnd> run_queue(WorkQueue& queue, batch::QueueOutput& output, const batch::MakeWorker& make,
                              const QueueRunOptions& options);

}  // namespace runnel::fleet
