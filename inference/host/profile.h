// The run time of a model on this machine, operator by operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/host/machine_peak.h"
#include "base/status.h"
#include "inference/host/engine.h"

namespace runnel {

struct ProfileOptions {
  RunMode mode = RunMode::stream;
  std::int64_t frames = 0;   // as PrepareOptions::frames
  std::int64_t runs = 1000;  // timed runs, 1 to 10,000,000; as many again are run unobserved for the total
  Isa isa = best_isa();
  int threads = 1;                                        // as PrepareOptions::threads
  std::size_t fast_bytes = static_cast<std::size_t>(-1);  // as PrepareOptions::fast_bytes
  bool param_copy = false;                                // as PrepareOptions::param_copy
  OperatorTable operators = all_operators();
};

// One step of a run: an operator, or an operator with the sum that it computes along.
struct StepProfile {
  std::string type, name;      // "conv", "stem"; fused: "conv+add", "stem + residual"
  std::vector<int> operators;  // indices
  // What computes the first of them: "avx512vnni dense", "reference"; "plain" for one loop of every machine.
  std::string kernel;
  double microseconds = 0;       // median, what reading the clock takes is subtracted
  double share = 0;              // of the sum over all steps, 0 to 1
  std::int64_t macs = 0;         // of one run
  double gmacs_per_second = 0;   // 0 where there are none or the time is too short to tell
  std::size_t output_bytes = 0;  // written by one run
  // Of the least time that this machine allows (MachinePeak): 1 is as fast as it can be.
  double peak_share = 0;
};

struct Profile {
  RunMode mode = RunMode::stream;
  std::int64_t block = 0, runs = 0;
  std::vector<StepProfile> steps;  // in order of execution
  // Median of a whole run without an observer: wall time, or, for long runs of one thread, the processor's.
  double run_microseconds = 0;
  double steps_microseconds = 0;  // sum over the steps
  std::int64_t macs = 0;
  MachinePeak peak;  // measured after the runs
  // Bytes: constants in the model file; what preparing made of them.
  std::size_t weight_bytes = 0, prepared_bytes = 0;
  // Bytes in one tier of memory: constants copied there; shared by turns (arena, scratch); per session
  // (state).
  struct TierBytes {
    std::size_t constants = 0, arena = 0, scratch = 0, state = 0;
  };
  TierBytes fast, slow;
  std::size_t constants_in_file = 0;  // read while running where the file lies
};

// Runs the model on seeded noise. Errors: those of preparing it; invalid_argument for a number of runs that
// is out of range.
Result<Profile> profile_model(std::shared_ptr<const OwnedModel> model, const ProfileOptions& options);

}  // namespace runnel
