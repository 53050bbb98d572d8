// The bundled digits graph end to end, from samples in memory to decisions that nobody reads.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace runnel::bench {

struct DigitsSpeed {
  double real_time = 0;            // seconds of audio per second of processor time, median
  double real_time_best = 0;
  double front_end_share = 0;      // of the time, from the fastest runs
  double step_us = 0;              // per frame of 10 ms, median
};

// `model`: digits.rnl. Runs the graph and its front end alone in turn, `rounds` times over 20 s of audio each.
Result<DigitsSpeed> measure_digits(const std::string& model, int rounds);

// Processor seconds per second of audio of the whole graph alone, the best of `rounds`: with `chunk` frames per run of the network (0: its smallest) and
// `tick` samples per step.
Result<double> digits_cost(const std::string& model, std::int64_t chunk, std::int64_t tick, int rounds);

}  // namespace runnel::bench
