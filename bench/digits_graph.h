// The bundled digits graph end to end, from samples in memory to decisions that nobody reads.
#pragma once

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

}  // namespace runnel::bench
