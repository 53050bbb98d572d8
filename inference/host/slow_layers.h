// Layers that take much of a model's time and little of what the machine can do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "inference/host/profile.h"

namespace runnel {

// A layer is slow when it takes more than the first part of a run, and the least time that the machine allows
// for it is less than the second part of what it took.
inline constexpr double kLargeShare = 0.2, kLeastOfPeak = 0.1;
// Shorter steps are calls, not loops: what the clock says of them is its own step.
inline constexpr double kShortestMicroseconds = 0.1;

// The slow steps of a profile, in order; none where the machine's peak is unknown.
std::vector<StepProfile> slow_steps(const Profile& profile);

// "layer conv stem takes 43 % of the time at 3 % of the machine's peak, with kernel reference; expected ..."
std::string slow_text(const StepProfile& step);

struct SpeedReport {
  Profile profile;                // the last one
  std::vector<StepProfile> slow;  // slow in every one of them: others were disturbed by other programs
};

// Profiles the model up to three times, on one thread. Errors: those of profile_model.
Result<SpeedReport> check_speed(const std::shared_ptr<const OwnedModel>& model, RunMode mode,
                                OperatorTable operators = all_operators());

}  // namespace runnel
