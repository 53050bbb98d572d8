#include "pipeline/host/threads/threaded_run.h"

#include <algorithm>
#include <ctime>
#include <thread>

#include "pipeline/host/steady_clock.h"

namespace runnel::pipeline {
namespace {

// A window lasts so many steps, and so much of the stream: a model may run once a second only.
constexpr std::int64_t kLeastSteps = 32, kMostSteps = 4096;
constexpr double kStreamSeconds = 1;
// The first steps fill caches and queues.
constexpr std::int64_t kWarmUp = 4;
// After a window without a result, the next one begins at this multiple of the step.
constexpr std::int64_t kLater = 8;
// What a placement must promise: costs are measured with errors, and threads disturb each other's caches.
constexpr double kLeastGain = 1.15;
// Slower than one thread by this much: back.
constexpr double kTooSlow = 1.05;
// Nanoseconds that a hand-over takes in either thread: in a full stream few of them wake a thread, from a
// device nearly all do.
constexpr double kHandOver = 2000, kHandOverLive = 15000;
constexpr double kNanosecondsPerByte = 0.15;
// Messages between two threads. With more of them, steps that take unequally long even out; from a device
// they are as many blocks by which an output may be late.
constexpr std::size_t kDepth = 32, kDepthLive = 4;

// Processor time, because other programs take turns on the same cores, and sinks wait for disks.
std::int64_t thread_nanoseconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

}  // namespace

ThreadedRun::ThreadedRun(Executor& executor, std::vector<int> with, Options options)
    : executor_(executor), options_(std::move(options)) {
  const Schedule& schedule = executor_.schedule();
  stages_.with = std::move(with);
  for (int i = 0; i < schedule.size(); ++i) {
    stages_.input.push_back(schedule.stage(i).input);
    const bool sink = schedule.stage(i).type->output.kinds == 0;
    times_.push_back(sink ? std::make_unique<StepTimes>() : nullptr);
  }
  next_ = kWarmUp;
}

Result<std::unique_ptr<ThreadedRun>> ThreadedRun::make(Executor& executor, std::vector<int> with,
                                                       Options options) {
  std::unique_ptr<ThreadedRun> run(new ThreadedRun(executor, std::move(with), std::move(options)));
  const std::vector<int>& placement = run->options_.placement;
  if (!placement.empty() && !is_possible(run->stages_, placement, run->options_.threads)) {
    return Status(Code::invalid_argument)
           << "the placement of " << placement.size() << " nodes on " << run->options_.threads
           << " threads is not possible: expected a thread for each of " << run->stages_.input.size()
           << " nodes, 0 for the source, and no two threads that wait for each other";
  }
  return run;
}

std::size_t ThreadedRun::depth(bool live) noexcept { return live ? kDepthLive : kDepth; }

Status ThreadedRun::step(bool stop, bool skip_models, bool& done) {
  done = ended_;
  if (ended_) return {};
  consider();
  if (running_ != nullptr)
    running_->begin_step({.step = step_, .since = steady_nanoseconds(), .skip_models = skip_models});
  ++step_;
  bool ended = stop;
  Status status;
  if (!stop) status = executor_.advance(ended);
  if (status.ok() && ended) status = executor_.flush();
  if (running_ != nullptr && (ended || !status.ok() || running_->failed())) status = join(status);
  if (status.ok() && ended) status = executor_.finish();
  done = ended_ = ended && status.ok();
  return status;
}

void ThreadedRun::took(std::int64_t nanoseconds) {
  for (std::size_t i = 0; i < times_.size(); ++i) {
    if (times_[i] == nullptr) continue;
    if (running_ == nullptr || running_->times(static_cast<int>(i)) == nullptr) times_[i]->add(nanoseconds);
  }
  ++window_.steps;
  window_.nanoseconds += nanoseconds;
}

void ThreadedRun::restart() noexcept {
  if (running_ != nullptr) running_->drop();
  running_.reset();
  if (measuring_) executor_.schedule().time_by(clock_);
  measuring_ = ended_ = false;
  step_ = 0;
  next_ = kWarmUp;
}

// Before a step: begins or ends a window, and changes the placement.
void ThreadedRun::consider() {
  if (!options_.placement.empty()) {
    if (step_ == options_.from) start(options_.placement);
    return;
  }
  if (running_ != nullptr) {
    // Devices give samples at their own pace.
    if (next_ < 0 || options_.live != nullptr) return;
    if (step_ == next_) window_ = {.from = step_};
    if (step_ < next_ || !long_enough(window_)) return;
    const double mean = static_cast<double>(window_.nanoseconds) / static_cast<double>(window_.steps);
    if (mean <= kTooSlow * one_) {
      next_ = -1;
      return;
    }
    static_cast<void>(join({}));
    if (options_.note) options_.note("on one thread again, which is faster");
    next_ = kLater * step_;
    return;
  }
  if (std::min(options_.threads, static_cast<int>(std::thread::hardware_concurrency())) < 2) return;
  if (!measuring_ && step_ >= next_)
    begin_window();
  else if (measuring_ && long_enough(window_))
    end_window();
}

bool ThreadedRun::long_enough(const Window& window) const {
  if (window.steps < kLeastSteps) return false;
  const double seconds = static_cast<double>(window.steps) * static_cast<double>(executor_.capacity(0)) /
                         std::max(executor_.format(0).clock.hz(), 1e-9);
  return window.steps >= kMostSteps || seconds >= kStreamSeconds;
}

void ThreadedRun::begin_window() {
  Schedule& schedule = executor_.schedule();
  measuring_ = true;
  window_ = {.from = step_};
  busy_.clear();
  produced_.clear();
  for (int i = 0; i < schedule.size(); ++i) {
    busy_.push_back(schedule.edge(i).busy);
    produced_.push_back(schedule.edge(i).produced);
  }
  // A clock that has been asked for stays.
  clock_ = schedule.time_by(thread_nanoseconds);
  if (clock_ != nullptr) schedule.time_by(clock_);
  waited_ = options_.live != nullptr ? options_.live->waited_nanoseconds() : 0;
}

void ThreadedRun::end_window() {
  Schedule& schedule = executor_.schedule();
  measuring_ = false;
  schedule.time_by(clock_);
  const auto steps = static_cast<double>(window_.steps);
  one_ = static_cast<double>(window_.nanoseconds) / steps;
  stages_.cost.clear();
  stages_.hand_over.clear();
  for (int i = 0; i < schedule.size(); ++i) {
    const Schedule::Edge& edge = schedule.edge(i);
    const auto at = static_cast<std::size_t>(i);
    double busy = static_cast<double>(edge.busy - busy_[at]);
    if (i == 0 && clock_ != nullptr && options_.live != nullptr)
      busy -= static_cast<double>(options_.live->waited_nanoseconds() - waited_);
    if (clock_ == nullptr) schedule.edge(i).busy = busy_[at];  // nobody has asked for it
    stages_.cost.push_back(std::max(busy, 0.0) / steps);
    const double bytes =
        static_cast<double>(edge.produced - produced_[at]) * static_cast<double>(edge.format.frame_bytes());
    stages_.hand_over.push_back((options_.live != nullptr ? kHandOverLive : kHandOver) +
                                kNanosecondsPerByte * bytes / steps);
  }
  const int threads = std::min(options_.threads, static_cast<int>(std::thread::hardware_concurrency()));
  const Placement placement = place(stages_, threads);
  next_ = kLater * step_;
  if (placement.threads < 2 || placement.gain() < kLeastGain) return;
  start(placement.thread);
}

void ThreadedRun::start(const std::vector<int>& thread) {
  const bool live = options_.live != nullptr;
  auto started = GraphThreads::start(executor_.schedule(), thread, depth(live), options_.live);
  if (!started.ok()) {
    if (options_.note) options_.note("on one thread: " + std::string(started.status().text()));
    return;
  }
  running_ = std::move(started).value();
  const int threads = *std::max_element(thread.begin(), thread.end()) + 1;
  most_threads_ = std::max(most_threads_, threads);
  // Judged when the queues are as full as they will be.
  next_ = step_ + 2 * static_cast<std::int64_t>(depth(live));
  if (!options_.note) return;
  std::string text = "threads:";
  for (int t = 0; t < threads; ++t) {
    text += (t == 0 ? " " : "; ") + std::to_string(t + 1) + ":";
    for (std::size_t i = 0; i < thread.size(); ++i) {
      if (thread[i] == t) text += " " + std::string(executor_.schedule().stage(static_cast<int>(i)).label);
    }
  }
  options_.note(text);
}

Status ThreadedRun::join(const Status& own) {
  const Status status = running_->join(own);
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const StepTimes* const times = running_->times(static_cast<int>(i));
    if (times_[i] != nullptr && times != nullptr) times_[i]->add(*times);
  }
  running_.reset();
  return status;
}

}  // namespace runnel::pipeline
