// The bundled digits graph end to end, from samples in memory to discarded decisions.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace runnel::bench {

struct DigitsSpeed {
  double real_time = 0;  // seconds of audio per second of processor time, median
  double real_time_best = 0;
  double front_end_share = 0;  // of the time, from the fastest runs
  double step_us = 0;          // per frame of 10 ms, median
};

// `model`: digits.rnl. Runs the graph and its front end alone in turn, `rounds` times over 20 s
// of audio each.
Result<DigitsSpeed> measure_digits(const std::string& model, int rounds);

// Processor seconds per second of audio of the whole graph alone, the best of `rounds`: with `chunk` frames
// per run of the network (0: its smallest) and `tick` samples per step.
Result<double> digits_cost(const std::string& model, std::int64_t chunk, std::int64_t tick, int rounds);
// The same as a mean over at least `seconds` of audio, to compare with runs of that length.
Result<double> digits_mean_cost(const std::string& model, std::int64_t chunk, std::int64_t tick,
                                double seconds);

// The network alone in blocks of `chunk` frames: processor time of `sessions` streams stepped one by one,
// divided by that of stepping them together. The best of `rounds` of each; above 1 the joint step is faster.
Result<double> digits_joint_gain(const std::string& model, std::int64_t chunk, std::size_t sessions,
                                 int rounds);

}  // namespace runnel::bench
