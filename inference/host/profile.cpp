#include "inference/host/profile.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <random>

#include "inference/host/cost.h"
#include "inference/host/kernel_names.h"
#include "inference/host/noise.h"

namespace runnel {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kMaxRuns = 10'000'000;
// Times that are kept for a median: later runs replace earlier ones.
constexpr std::size_t kKept = 4096;

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What it takes to read the clock twice in a row.
double clock_cost() {
  std::vector<double> costs(1001);
  for (double& cost : costs) {
    const Clock::time_point before = Clock::now();
    cost = microseconds(Clock::now() - before);
  }
  return median(costs);
}

// Keeps the time of every step.
class StepTimes final : public StepObserver {
 public:
  explicit StepTimes(int steps) : times_(static_cast<std::size_t>(steps)) {}
  void start() { last_ = Clock::now(); }
  void done(int index) noexcept override {
    const Clock::time_point now = Clock::now();
    std::vector<double>& times = times_[static_cast<std::size_t>(index)];
    const double time = microseconds(now - last_);
    if (times.size() < kKept)
      times.push_back(time);
    else
      times[static_cast<std::size_t>(runs_) % kKept] = time;
    last_ = Clock::now();
  }
  void end_run() { ++runs_; }
  [[nodiscard]] double median_of(int index) { return median(times_[static_cast<std::size_t>(index)]); }
  [[nodiscard]] double sum() {
    double sum = 0;
    for (std::vector<double>& times : times_) sum += median(times);
    return sum;
  }

 private:
  std::vector<std::vector<double>> times_;
  std::int64_t runs_ = 0;
  Clock::time_point last_;
};

std::string joined(const std::string& a, std::string_view b, std::string_view between) {
  return a.empty() ? std::string(b) : b.empty() ? a : a + std::string(between) + std::string(b);
}

// What a step must read and write at least: its blocks, and the constants that it multiplies with.
std::int64_t bytes_moved(const Prepared& prepared, int index) {
  const Model& model = prepared.model();
  const Prepared::StepInfo info = prepared.step(index);
  std::int64_t bytes = 0;
  for (int i = info.first; i < info.first + info.operators; ++i) {
    const fb::Operator& op = model.op(i);
    for (const std::int32_t tensor : *op.outputs())
      bytes += static_cast<std::int64_t>(prepared.placement(tensor).bytes);
    const bool multiplies = multiply_adds(model, op, prepared.shape(op.outputs()->Get(0))) > 0;
    for (const std::int32_t tensor : *op.inputs()) {
      if (tensor >= 0 && (multiplies || !prepared.placement(tensor).constant))
        bytes += static_cast<std::int64_t>(prepared.placement(tensor).bytes);
    }
  }
  return bytes;
}

StepProfile describe_step(const Prepared& prepared, int index) {
  const Model& model = prepared.model();
  const Prepared::StepInfo info = prepared.step(index);
  StepProfile step;
  for (int i = info.first; i < info.first + info.operators; ++i) {
    const fb::Operator& op = model.op(i);
    step.operators.push_back(i);
    step.type = joined(step.type, operator_type(op), "+");
    step.name = joined(step.name, model.operator_name(i), " + ");
    step.macs += multiply_adds(model, op, prepared.shape(op.outputs()->Get(0)));
  }
  for (const std::int32_t output : *model.op(info.first + info.operators - 1).outputs())
    step.output_bytes += prepared.placement(output).bytes;
  return step;
}

// The same noise for every run: of every input.
std::vector<std::vector<std::byte>> noise_for(Session& session, const Model& model) {
  std::mt19937 random(1);
  std::vector<std::vector<std::byte>> noise;
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    std::vector<std::byte>& bytes = noise.emplace_back(session.input(static_cast<int>(i)).size());
    fill_noise(bytes, model.tensor(model.inputs()[i]).dtype, random);
  }
  return noise;
}

// The processor's time of this thread, where a run is so long that reading that clock costs nothing; the
// wall's where several threads work, or for the shortest runs.
class RunClock {
 public:
  explicit RunClock(bool thread) : clock_(thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC) {}
  [[nodiscard]] double microseconds() const noexcept {
    timespec now{};
    clock_gettime(clock_, &now);
    return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
  }

 private:
  clockid_t clock_;
};

}  // namespace

Result<Profile> profile_model(std::shared_ptr<const OwnedModel> owned, const ProfileOptions& options) {
  if (options.runs < 1 || options.runs > kMaxRuns)
    return Status(Code::invalid_argument) << options.runs << " runs, expected 1 to " << kMaxRuns;
  KernelNames kernels(owned->model().operator_count());
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned,
                                                {.mode = options.mode,
                                                 .frames = options.frames,
                                                 .isa = options.isa,
                                                 .threads = options.threads,
                                                 .fast_bytes = options.fast_bytes,
                                                 .param_copy = options.param_copy,
                                                 .kernels = &kernels},
                                                options.operators));
  RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
  const Prepared& prepared = engine->prepared();
  Session& session = runner->session();
  const std::vector<std::vector<std::byte>> noise = noise_for(session, owned->model());
  const auto fill_inputs = [&] {
    for (std::size_t i = 0; i < noise.size(); ++i)
      std::memcpy(session.input(static_cast<int>(i)).data(), noise[i].data(), noise[i].size());
  };

  Profile profile;
  profile.mode = options.mode;
  profile.block = prepared.block();
  profile.runs = options.runs;
  profile.weight_bytes = owned->model().weight_bytes();
  profile.prepared_bytes = engine->prepared_bytes();
  const Prepared::ConstantBytes constants = prepared.constant_bytes();
  profile.constants_in_file = constants.in_place;
  profile.fast = {.constants = constants.copied_fast, .arena = prepared.arena_bytes(Tier::fast)};
  profile.slow = {.constants = constants.copied_slow, .arena = prepared.arena_bytes(Tier::slow)};
  (prepared.scratch_tier() == Tier::fast ? profile.fast : profile.slow).scratch = prepared.scratch_bytes();
  (prepared.state_tier() == Tier::fast ? profile.fast : profile.slow).state = prepared.state_bytes();

  StepTimes times(prepared.step_count());
  std::vector<double> whole;
  const std::int64_t warm_up = std::clamp<std::int64_t>(options.runs / 10, 1, 100);
  for (std::int64_t i = 0; i < warm_up; ++i) {
    fill_inputs();
    session.run(prepared.block());
  }
  for (std::int64_t i = 0; i < options.runs; ++i) {
    fill_inputs();
    times.start();
    session.run(prepared.block(), times);
    times.end_run();
  }
  constexpr double kLong = 100;
  const RunClock clock(options.threads <= 1 && times.sum() > kLong);
  for (std::int64_t i = 0; i < options.runs; ++i) {
    fill_inputs();
    const double before = clock.microseconds();
    session.run(prepared.block());
    const double time = clock.microseconds() - before;
    if (whole.size() < kKept)
      whole.push_back(time);
    else
      whole[static_cast<std::size_t>(i) % kKept] = time;
  }

  const double cost = clock_cost();
  profile.peak = measure_peak();
  profile.run_microseconds = std::max(0.0, median(whole) - cost);
  for (int i = 0; i < prepared.step_count(); ++i) {
    StepProfile step = describe_step(prepared, i);
    step.kernel = kernels.of(prepared.step(i).first);
    step.microseconds = std::max(0.0, times.median_of(i) - cost);
    if (step.macs > 0 && step.microseconds > 0)
      step.gmacs_per_second = static_cast<double>(step.macs) / step.microseconds / 1e3;
    if (step.microseconds > 0) {
      const fb::Operator& op = owned->model().op(prepared.step(i).first);
      const DType type = owned->model().tensor(op.outputs()->Get(0)).dtype;
      step.peak_share = profile.peak.least_microseconds(step.macs, bytes_moved(prepared, i),
                                                        static_cast<int>(size_of(type))) /
                        step.microseconds;
    }
    profile.steps_microseconds += step.microseconds;
    profile.macs += step.macs;
    profile.steps.push_back(std::move(step));
  }
  for (StepProfile& step : profile.steps)
    step.share = profile.steps_microseconds > 0 ? step.microseconds / profile.steps_microseconds : 0;
  return profile;
}

}  // namespace runnel
