#include "services/fleet/recordings/queue_run.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/host/joined_thread.h"

namespace runnel::fleet {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSettleEvery(50), kAskEvery(500), kProgressEvery(100);
// Seconds of work that wait in this process: few, because what waits here cannot be done elsewhere.
constexpr double kAhead = 0.1;
constexpr std::size_t kMostAhead = 256;

// Threads that process what they are given.
class Threads {
 public:
  Threads(unsigned count, const batch::MakeWorker& make, const batch::RunOptions& options)
      : options_(options) {
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this, &make] {
        const std::unique_ptr<batch::Worker> worker = make();
        work(*worker);
      });
    }
  }
  ~Threads() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    came_.notify_all();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void give(Desk::Job job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    came_.notify_one();
  }
  std::vector<std::pair<batch::Recording, batch::Outcome>> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(done_, {});
  }

 private:
  [[nodiscard]] bool stopped() const {
    return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  }
  void work(batch::Worker& worker) {
    for (;;) {
      Desk::Job job;
      {
        std::unique_lock lock(mutex_);
        if (jobs_.empty() && options_.spare != nullptr) {
          // Idle for now: long recordings of other threads may use it.
          options_.spare->give(1);
          came_.wait(lock, [&] { return quit_ || !jobs_.empty(); });
          options_.spare->take(1);
        } else {
          came_.wait(lock, [&] { return quit_ || !jobs_.empty(); });
        }
        if (quit_) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      if (stopped()) continue;
      batch::Outcome outcome = job.refused.ok() ? batch::process_checked(worker, job.recording)
                                                : batch::failure_of(job.recording, job.refused);
      if (stopped()) continue;  // the outcome may be incomplete
      const std::lock_guard lock(mutex_);
      done_.emplace_back(std::move(job.recording), std::move(outcome));
    }
  }

  const batch::RunOptions& options_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Desk::Job> jobs_;
  std::vector<std::pair<batch::Recording, batch::Outcome>> done_;
  bool quit_ = false;
  std::vector<JoinedThread> threads_;  // last: they use the rest
};

double seconds_of(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// The loop around a desk.
class Run {
 public:
  Run(WorkQueue& queue, batch::QueueOutput& output, const batch::MakeWorker& make,
      const QueueRunOptions& options)
      : queue_(queue),
        output_(output),
        options_(options),
        jobs_(options.run.jobs > 0 ? options.run.jobs : std::max(1u, std::thread::hardware_concurrency())),
        desk_(queue, output, options.desk),
        threads_(jobs_, make, options.run) {}

  Result<QueueRunEnd> operator()() {
    while (!stopped()) {
      desk_.work(now());
      Desk::Job job;
      while (desk_.begin(job)) threads_.give(std::move(job));
      pull();
      receive();
      RUNNEL_TRY(settle());
      for (const std::string& line : desk_.take_news()) say(line);
      if (at_end()) break;
      report();
    }
    RUNNEL_TRY(desk_.settle(now()));
    end_.stopped = stopped();
    desk_.leave();
    queue_.flush(1000);
    end_.apart = desk_.set_apart();
    if (const auto state = queue_.state(); state.ok()) end_.state = *state;
    return end_;
  }

 private:
  [[nodiscard]] bool stopped() const {
    return options_.run.stop != nullptr && options_.run.stop->load(std::memory_order_relaxed);
  }
  static Desk::Time now() { return Clock::now().time_since_epoch(); }
  void say(const std::string& line) const {
    if (options_.say) options_.say(line);
  }

  // Asks for as many recordings as keep the threads busy.
  void pull() {
    if (desk_.busy_with_suspects()) return;
    const double mean = finished_ > 0 ? busy_ / static_cast<double>(finished_) : kAhead;
    const double ahead = std::min(kAhead * jobs_ / std::max(mean, 1e-6), static_cast<double>(kMostAhead));
    const std::size_t wanted = jobs_ + (finished_ > 0 ? static_cast<std::size_t>(ahead) : 0);
    const std::size_t have = desk_.held() + static_cast<std::size_t>(queue_.coming());
    // Few at a time would be many messages.
    if (have + wanted / 4 < wanted || have < jobs_) queue_.pull(static_cast<int>(wanted - have));
  }

  void receive() {
    QueueItem item;
    int wait = 10;
    while (queue_.next(item, wait)) {
      desk_.take(std::move(item), now());
      wait = 0;
      heard_ = Clock::now();
    }
  }

  Status settle() {
    for (auto& [recording, outcome] : threads_.take()) {
      busy_ += outcome.counts.busy_seconds;
      ++finished_;
      heard_ = Clock::now();
      desk_.finished(recording, std::move(outcome));
    }
    if (!desk_.unsettled()) return {};
    if (Clock::now() - settled_ < kSettleEvery && desk_.under_way() > 0) return {};
    RUNNEL_TRY(desk_.settle(now()));
    settled_ = Clock::now();
    return {};
  }

  // Whether nobody has anything left. Asks only where this worker has nothing to do.
  bool at_end() {
    if (!desk_.idle()) return false;
    if (Clock::now() - heard_ < milliseconds(100) || Clock::now() - asked_ < kAskEvery) return false;
    if (!look()) return false;
    return !options_.wait && end_.state.waiting == 0 && end_.state.under_way == 0;
  }

  bool look() {
    asked_ = Clock::now();
    const auto state = queue_.state();
    if (!state.ok()) {
      if (!std::exchange(away_, true)) say("waiting for the server: " + std::string(state.status().text()));
      return false;
    }
    if (std::exchange(away_, false)) say("the server answers again");
    end_.state = *state;
    return true;
  }

  void report() {
    if (!options_.run.progress || Clock::now() - reported_ < kProgressEvery) return;
    reported_ = Clock::now();
    // A question now and then, for the whole queue.
    if (Clock::now() - asked_ > 4 * kAskEvery) look();
    const auto total = static_cast<std::int64_t>(end_.state.total);
    const auto left = static_cast<std::int64_t>(end_.state.waiting + end_.state.under_way);
    batch::ProgressState state{.recordings = total - left, .of = total};
    state.failures = output_.totals().failures;
    state.audio_seconds = output_.totals().audio_seconds;
    state.seconds = seconds_of(Clock::now() - start_);
    state.share = total > 0 ? static_cast<double>(total - left) / static_cast<double>(total) : 0;
    if (first_share_ < 0 && total > 0) first_share_ = state.share;
    state.share_before = std::max(first_share_, 0.0);
    options_.run.progress(state);
  }

  WorkQueue& queue_;
  batch::QueueOutput& output_;
  const QueueRunOptions& options_;
  const unsigned jobs_;
  Desk desk_;
  QueueRunEnd end_;
  double busy_ = 0, first_share_ = -1;
  std::int64_t finished_ = 0;
  bool away_ = false;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point heard_ = start_, asked_{}, settled_{}, reported_{};
  Threads threads_;  // last: they end first
};

}  // namespace

Result<QueueRunEnd> run_queue(WorkQueue& queue, batch::QueueOutput& output, const batch::MakeWorker& make,
                              const QueueRunOptions& options) {
  return Run(queue, output, make, options)();
}

}  // namespace runnel::fleet
