#include "inference/host/slow_layers.h"

#include <algorithm>
#include <cmath>

namespace runnel {
namespace {

bool same_step(const StepProfile& a, const StepProfile& b) { return a.operators == b.operators; }

// Enough runs for a median, within a second or so.
std::int64_t runs_for(std::int64_t macs) {
  constexpr std::int64_t kMacs = 4'000'000'000, kLeast = 20, kMost = 1000;
  return std::clamp(kMacs / std::max<std::int64_t>(macs, 1), kLeast, kMost);
}

}  // namespace

std::vector<StepProfile> slow_steps(const Profile& profile) {
  std::vector<StepProfile> slow;
  for (const StepProfile& step : profile.steps) {
    if (profile.peak.known() && step.microseconds >= kShortestMicroseconds && step.share > kLargeShare &&
        step.peak_share < kLeastOfPeak)
      slow.push_back(step);
  }
  return slow;
}

std::string slow_text(const StepProfile& step) {
  const auto percent = [](double share) { return std::to_string(std::lround(100 * share)) + " %"; };
  return "layer " + step.type + (step.name.empty() ? "" : " " + step.name) + " takes " + percent(step.share) +
         " of the time at " + percent(step.peak_share) + " of the machine's peak, with kernel " +
         step.kernel + "; expected at least " + percent(kLeastOfPeak) + " of a layer that takes more than " +
         percent(kLargeShare);
}

Result<SpeedReport> check_speed(const std::shared_ptr<const OwnedModel>& model, RunMode mode,
                                OperatorTable operators) {
  ProfileOptions options;
  options.mode = mode;
  options.operators = operators;
  options.runs = 1;
  RUNNEL_ASSIGN(const Profile once, profile_model(model, options));
  options.runs = runs_for(once.macs);
  constexpr int kProfiles = 3;
  SpeedReport report;
  for (int i = 0; i < kProfiles && (i == 0 || !report.slow.empty()); ++i) {
    RUNNEL_ASSIGN(report.profile, profile_model(model, options));
    const std::vector<StepProfile> now = slow_steps(report.profile);
    if (i == 0) report.slow = now;
    std::erase_if(report.slow, [&](const StepProfile& step) {
      return std::none_of(now.begin(), now.end(),
                          [&](const StepProfile& other) { return same_step(step, other); });
    });
  }
  return report;
}

}  // namespace runnel
