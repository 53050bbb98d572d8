#include "pipeline/host/threads/threaded_run.h"

#include <algorithm>
#include <thread>

#include "pipeline/host/steady_clock.h"

namespace runnel::pipeline {
namespace {

// Costs are those of the fastest of so many blocks, each of so many steps, so much of the stream (a model may
// run once a second only) and so much time.
constexpr int kBlocks = 3;
constexpr std::int64_t kLeastSteps = 16, kMostSteps = 4096;
constexpr double kStreamSeconds = 1;
constexpr std::int64_t kNanoseconds = 2'000'000;
// Nanoseconds of a step that no placement makes faster; then nothing more is measured.
constexpr double kTinyStep = 6000;
// The first steps fill caches.
constexpr std::int64_t kWarmUp = 4;
// Without a result, the next attempt begins at this multiple of the step.
constexpr std::int64_t kLater = 8;
// On several threads a block is long enough for the queues to be as full as they get.
constexpr std::int64_t kStepsOnThreads = 128;
// What a placement must promise: costs are measured with errors, and threads disturb each other's caches.
constexpr double kLeastGain = 1.15;
// Slower than one thread by this much: back.
constexpr double kTooSlow = 1.05;
// By this much: without looking again.
constexpr double kFarTooSlow = 1.3;
// Nanoseconds that a hand-over takes in either thread: few of them wake a thread, but nearly all do when the
// stream has its own pace.
constexpr double kHandOver = 2000, kHandOverLive = 15000;
constexpr double kNanosecondsPerByte = 0.15;
// Messages between two threads. With more of them, steps that take unequally long even out; from a device
// they are as many blocks by which an output may be late.
constexpr std::size_t kDepth = 32, kDepthLive = 4;

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
  // Asking costs more than a small step.
  processors_ = static_cast<int>(std::thread::hardware_concurrency());
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
  if (running_ == nullptr) {
    ++step_;
    Status status = stop ? executor_.end() : executor_.step(done);
    done = ended_ = (stop || done) && status.ok();
    return status;
  }
  running_->begin_step({.step = step_++, .since = steady_nanoseconds(), .skip_models = skip_models});
  bool ended = stop;
  Status status;
  if (!stop) status = executor_.advance(ended);
  if (status.ok() && ended) status = executor_.flush();
  if (ended || !status.ok() || running_->failed()) status = join(status);
  if (status.ok() && ended) status = executor_.finish();
  done = ended_ = ended && status.ok();
  return status;
}

void ThreadedRun::took(std::int64_t nanoseconds) {
  // Without a device nobody asks for the latency.
  for (std::size_t i = 0; options_.live != nullptr && i < times_.size(); ++i) {
    if (times_[i] == nullptr) continue;
    if (running_ == nullptr || running_->times(static_cast<int>(i)) == nullptr) times_[i]->add(nanoseconds);
  }
  ++block_.steps;
  block_.nanoseconds += nanoseconds;
}

void ThreadedRun::restart() noexcept {
  if (running_ != nullptr) running_->drop();
  running_.reset();
  if (measuring_) stop_measuring();
  ended_ = false;
  step_ = 0;
  next_ = kWarmUp;
}

// Before a step: begins or ends a block, and changes the placement.
void ThreadedRun::consider() {
  if (!options_.placement.empty()) {
    if (step_ == options_.from) start(options_.placement);
    return;
  }
  if (running_ != nullptr) {
    judge();
  } else if (std::min(options_.threads, processors_) >= 2) {
    if (!measuring_ && step_ >= next_) {
      one_ = 0;
      block_ = {};
      begin_block();
    } else if (measuring_ && too_small()) {
      stop_measuring();
      next_ = kLater * step_;
    } else if (measuring_ && long_enough(kLeastSteps)) {
      end_block();
    }
  }
}

// On several threads: stays there, or goes back to one.
void ThreadedRun::judge() {
  if (next_ < 0 || step_ < next_) return;
  if (step_ == next_) block_ = {};
  if (!long_enough(kStepsOnThreads)) return;
  const double mean = static_cast<double>(block_.nanoseconds) / static_cast<double>(block_.steps);
  block_ = {.blocks = block_.blocks + 1, .best = block_.blocks == 0 ? mean : std::min(block_.best, mean)};
  if (block_.best <= kTooSlow * one_)
    next_ = -1;
  else if (block_.blocks == kBlocks || block_.best > kFarTooSlow * one_) {
    static_cast<void>(join({}));
    if (options_.note) options_.note("on one thread again, which is faster");
    next_ = kLater * step_;
  }
}

double ThreadedRun::stream_seconds() const {
  return static_cast<double>(block_.steps) * static_cast<double>(executor_.capacity(0)) /
         std::max(executor_.format(0).clock.hz(), 1e-9);
}

bool ThreadedRun::too_small() const {
  return block_.steps >= kLeastSteps && (block_.steps >= kMostSteps || stream_seconds() >= kStreamSeconds) &&
         static_cast<double>(block_.nanoseconds) < kTinyStep * static_cast<double>(block_.steps);
}

bool ThreadedRun::long_enough(std::int64_t least_steps) const {
  if (block_.steps < least_steps) return false;
  return block_.steps >= kMostSteps ||
         (stream_seconds() >= kStreamSeconds && block_.nanoseconds >= kNanoseconds);
}

void ThreadedRun::begin_block() {
  Schedule& schedule = executor_.schedule();
  measuring_ = true;
  block_ = {.blocks = block_.blocks};
  busy_.clear();
  produced_.clear();
  for (int i = 0; i < schedule.size(); ++i) {
    busy_.push_back(schedule.edge(i).busy);
    produced_.push_back(schedule.edge(i).produced);
  }
  // A clock that has been asked for stays.
  clock_ = schedule.time_by(steady_nanoseconds);
  if (clock_ != nullptr) schedule.time_by(clock_);
  waited_ = options_.live != nullptr ? options_.live->waited_nanoseconds() : 0;
}

void ThreadedRun::stop_measuring() {
  Schedule& schedule = executor_.schedule();
  measuring_ = false;
  schedule.time_by(clock_);
  if (clock_ != nullptr) return;
  // Nobody has asked for the times.
  for (int i = 0; i < schedule.size(); ++i) schedule.edge(i).busy = busy_[static_cast<std::size_t>(i)];
}

void ThreadedRun::end_block() {
  const auto steps = static_cast<double>(block_.steps);
  const double mean = static_cast<double>(block_.nanoseconds) / steps;
  if (one_ == 0 || mean < one_) {
    one_ = mean;
    stages_.cost.clear();
    stages_.hand_over.clear();
    for (int i = 0; i < executor_.schedule().size(); ++i) {
      const Schedule::Edge& edge = executor_.schedule().edge(i);
      const auto at = static_cast<std::size_t>(i);
      auto busy = static_cast<double>(edge.busy - busy_[at]);
      if (i == 0 && options_.live != nullptr)
        busy -= static_cast<double>(options_.live->waited_nanoseconds() - waited_);
      stages_.cost.push_back(std::max(busy / steps, 0.0));
      const double bytes =
          static_cast<double>(edge.produced - produced_[at]) * static_cast<double>(edge.format.frame_bytes());
      stages_.hand_over.push_back((options_.paced ? kHandOverLive : kHandOver) +
                                  kNanosecondsPerByte * bytes / steps);
    }
  }
  stop_measuring();
  ++block_.blocks;
  if (block_.blocks < kBlocks) {
    begin_block();
    return;
  }
  const Placement placement = place(stages_, std::min(options_.threads, processors_));
  next_ = kLater * step_;
  if (placement.threads >= 2 && placement.gain() >= kLeastGain) start(placement.thread);
}

void ThreadedRun::start(const std::vector<int>& thread) {
  const std::size_t between = depth(options_.live != nullptr);
  auto started = GraphThreads::start(executor_.schedule(), thread, between, options_.paced, options_.live);
  if (!started.ok()) {
    if (options_.note) options_.note("on one thread: " + std::string(started.status().text()));
    return;
  }
  running_ = std::move(started).value();
  const int threads = *std::max_element(thread.begin(), thread.end()) + 1;
  most_threads_ = std::max(most_threads_, threads);
  // Judged when the queues are as full as they get; not if the stream has its own pace.
  next_ = options_.paced ? -1 : step_ + 2 * static_cast<std::int64_t>(between);
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
