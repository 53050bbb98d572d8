#include "services/batch/run.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/host/joined_thread.h"

namespace runnel::batch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook(100);  // how often a waiting thread checks for a stop

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Read-ahead: the disk loads the next recordings while the processors work.
constexpr off_t kReadAhead = off_t{4} << 20;
void read_ahead(const Recording& recording) {
  struct stat found = {};
  if (stat(recording.path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return;
  const int file = open(recording.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return;
  posix_fadvise(file, 0, kReadAhead, POSIX_FADV_WILLNEED);
  close(file);
}

// Puts the outcomes of several threads in order. An idle thread takes the next recording, so no thread waits
// for another while the memory of early outcomes is within bounds.
class Crew {
 public:
  Crew(const Recordings& recordings, std::size_t first, unsigned jobs, const std::atomic<bool>* stop)
      : recordings_(recordings), jobs_(jobs), next_(first), taken_(first), stop_(stop) {}

  void work(Worker& worker) {
    for (;;) {
      std::size_t index = 0;
      {
        std::unique_lock lock(mutex_);
        while (!stopped() && next_ < recordings_.size() && next_ > taken_ &&
               (next_ >= taken_ + kAhead || waiting_bytes_ >= kWaitingBytes))
          room_.wait_for(lock, kLook);
        if (stopped() || next_ >= recordings_.size()) return;
        index = next_++;
      }
      if (index + jobs_ < recordings_.size()) read_ahead(recordings_[index + jobs_]);
      const Recording recording = recordings_[index];
      Outcome outcome = process_checked(worker, recording);
      if (stopped()) return;  // the outcome may be incomplete
      bool awaited = false;
      {
        const std::lock_guard lock(mutex_);
        waiting_bytes_ += bytes_of(outcome);
        waiting_.emplace(index, std::move(outcome));
        awaited = index == taken_;
      }
      if (awaited) arrived_.notify_one();
    }
  }
  // The outcome of recordings[index]; nullopt: not ready, call again.
  std::optional<Outcome> take(std::size_t index) {
    std::optional<Outcome> outcome;
    {
      std::unique_lock lock(mutex_);
      auto place = waiting_.find(index);
      if (place == waiting_.end()) {
        arrived_.wait_for(lock, kLook);
        place = waiting_.find(index);
      }
      if (place == waiting_.end()) return outcome;
      outcome = std::move(place->second);
      waiting_.erase(place);
      waiting_bytes_ -= bytes_of(*outcome);
      taken_ = index + 1;
    }
    room_.notify_all();
    return outcome;
  }
  void quit() {
    quit_ = true;
    room_.notify_all();
  }
  [[nodiscard]] bool stopped() const {
    return quit_ || (stop_ != nullptr && stop_->load(std::memory_order_relaxed));
  }

 private:
  static constexpr std::size_t kAhead = 4096, kWaitingBytes = std::size_t{64} << 20;
  static std::size_t bytes_of(const Outcome& outcome) {
    return outcome.records.size() + outcome.index.size();
  }

  const Recordings& recordings_;
  const unsigned jobs_;
  std::mutex mutex_;
  std::condition_variable room_, arrived_;
  std::size_t next_, taken_;
  std::unordered_map<std::size_t, Outcome> waiting_;  // by index
  std::size_t waiting_bytes_ = 0;
  const std::atomic<bool>* stop_;
  std::atomic<bool> quit_{false};
};

}  // namespace

Outcome failure_of(const Recording& recording, const Status& status) {
  Outcome outcome;
  add_error(outcome, recording.path, status);
  outcome.records.pop_back();
  outcome.records = with_fields(outcome.records, recording) + '\n';
  return outcome;
}

Outcome process_checked(Worker& worker, const Recording& recording) {
  Outcome outcome;
  const Clock::time_point start = Clock::now();
  Status status = check_file(recording);
  if (status.ok()) {
    outcome = worker.process(recording);
    status = check_file(recording);
    // The file may have changed while it was read.
    if (!status.ok()) worker.forget(recording);
  }
  if (!status.ok()) outcome = failure_of(recording, status);
  outcome.counts.busy_seconds = seconds_since(start);
  return outcome;
}

Status work(const Recordings& recordings, std::size_t first, const MakeWorker& make,
            const RunOptions& options, const Take& take) {
  const unsigned wanted = options.jobs > 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  const std::size_t left = recordings.size() - std::min(first, recordings.size());
  const unsigned jobs = static_cast<unsigned>(std::clamp<std::size_t>(left, 1, wanted));
  Crew crew(recordings, first, jobs, options.stop);
  const auto cost_of = [](const Recording& recording) { return static_cast<double>(recording.cost()) + 1; };
  double cost = 0, done = 0;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const double one = cost_of(recordings[i]);
    cost += one;
    if (i < first) done += one;
  }
  ProgressState state{.of = static_cast<std::int64_t>(recordings.size())};
  state.recordings = static_cast<std::int64_t>(first);
  state.share = state.share_before = cost > 0 ? done / cost : 1;
  const Clock::time_point start = Clock::now();
  Clock::time_point reported = start;

  // Each worker is made in its own thread, so that its memory is local to the processor.
  std::vector<JoinedThread> threads;
  try {
    for (unsigned i = 0; i < jobs; ++i) {
      threads.emplace_back([&] {
        const std::unique_ptr<Worker> worker = make();
        crew.work(*worker);
        if (options.spare != nullptr) options.spare->give(1);
      });
    }
  } catch (const std::system_error&) {
    // Any number of threads gives the same results.
    if (threads.empty()) return Status(Code::io_error, "the system gives no thread");
  }
  Status status;
  for (std::size_t index = first; index < recordings.size() && status.ok();) {
    if (options.progress && Clock::now() - reported >= kLook) {
      reported = Clock::now();
      state.seconds = seconds_since(start);
      options.progress(state);
    }
    const std::optional<Outcome> outcome = crew.take(index);
    if (!outcome) {
      if (crew.stopped())
        status = Status(Code::io_error)
                 << "interrupted after " << index << " of " << recordings.size() << " recordings";
      continue;
    }
    if (options.strict && outcome->counts.code != Code::ok) {
      status = Status(outcome->counts.code)
               << "recording " << index + 1 << " of " << recordings.size()
               << " failed: " << outcome->records.substr(0, outcome->records.size() - 1);
      break;
    }
    const Recording recording = recordings[index];
    status = take(recording, *outcome);
    done += cost_of(recording);
    state.share = done / cost;
    state.recordings = static_cast<std::int64_t>(++index);
    state.failures += outcome->counts.code != Code::ok ? 1 : 0;
    state.audio_seconds += outcome->counts.audio_seconds;
  }
  crew.quit();
  threads.clear();
  state.seconds = seconds_since(start);
  if (options.progress && status.ok()) options.progress(state);
  return status;
}

Status run(RunOutput& output, const MakeWorker& make, const RunOptions& options) {
  if (output.complete()) return {};
  const Status status =
      work(output.recordings(), output.done(), make, options,
           [&](const Recording&, const Outcome& outcome) { return output.append(outcome); });
  if (!status.ok()) {
    const Status kept = output.sync();  // the first failure is reported
    (void)kept;
    return status;
  }
  return output.finish();
}

}  // namespace runnel::batch
