#include "inference/host/profile.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "inference/host/cost.h"

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

 private:
  std::vector<std::vector<double>> times_;
  std::int64_t runs_ = 0;
  Clock::time_point last_;
};

std::string joined(const std::string& a, std::string_view b, std::string_view between) {
  return a.empty() ? std::string(b) : b.empty() ? a : a + std::string(between) + std::string(b);
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

}  // namespace

Result<Profile> profile_model(std::shared_ptr<const OwnedModel> owned, const ProfileOptions& options) {
  if (options.runs < 1 || options.runs > kMaxRuns)
    return Status(Code::invalid_argument) << options.runs << " runs, expected 1 to " << kMaxRuns;
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned,
                                                {.mode = options.mode,
                                                 .frames = options.frames,
                                                 .isa = options.isa,
                                                 .threads = options.threads,
                                                 .fast_bytes = options.fast_bytes,
                                                 .param_copy = options.param_copy},
                                                options.operators));
  RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
  const Prepared& prepared = engine->prepared();
  Session& session = runner->session();
  std::mt19937 random(1);
  const auto fill_inputs = [&] {
    for (std::size_t i = 0; i < owned->model().inputs().size(); ++i) {
      // Small bytes: plain floats too, instead of the slow numbers next to zero that random bits may be.
      const bool floats = owned->model().tensor(owned->model().inputs()[i]).dtype == DType::float32;
      for (std::byte& byte : session.input(static_cast<int>(i)))
        byte = static_cast<std::byte>(floats ? 0x3F : random() & 63);
    }
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
  for (std::int64_t i = 0; i < options.runs; ++i) {
    fill_inputs();
    const Clock::time_point before = Clock::now();
    session.run(prepared.block());
    const double time = microseconds(Clock::now() - before);
    if (whole.size() < kKept)
      whole.push_back(time);
    else
      whole[static_cast<std::size_t>(i) % kKept] = time;
  }

  const double cost = clock_cost();
  profile.run_microseconds = std::max(0.0, median(whole) - cost);
  for (int i = 0; i < prepared.step_count(); ++i) {
    StepProfile step = describe_step(prepared, i);
    step.microseconds = std::max(0.0, times.median_of(i) - cost);
    if (step.macs > 0 && step.microseconds > 0)
      step.gmacs_per_second = static_cast<double>(step.macs) / step.microseconds / 1e3;
    profile.steps_microseconds += step.microseconds;
    profile.macs += step.macs;
    profile.steps.push_back(std::move(step));
  }
  for (StepProfile& step : profile.steps)
    step.share = profile.steps_microseconds > 0 ? step.microseconds / profile.steps_microseconds : 0;
  return profile;
}

}  // namespace runnel
