// What calibration keeps of values: extremes, and how many lie in each bin of a range.
#pragma once

#include <cstdint>
#include <span>

#include "base/cpu.h"

namespace runnel::compiler::quantizer {

// The least and the largest value, and 0 among them.
struct Extremes {
  float low = 0, high = 0;
  bool finite = true;  // all values; otherwise low and high mean nothing
};
Extremes extremes_of(std::span<const float> values, Isa isa = best_isa());

// Adds one to bin (value - low) * per_bin, rounded down, or to the last bin. Values are finite and not below
// `low`.
void count_values(std::span<const float> values, double low, double per_bin, std::span<std::uint64_t> bins,
                  Isa isa = best_isa());

}  // namespace runnel::compiler::quantizer
