// Random convolutions with guarded memory, for the equality tests.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/conv/conv.h"

namespace runnel::kernels::test {

// A specification together with the memory that it points to.
struct ConvCase {
  ConvSpec spec;
  std::vector<std::int8_t> weights, x;
  std::vector<std::int32_t> bias, shift, multiplier;

  // Levels that this machine runs, without the reference.
  static std::vector<Isa> levels() {
    std::vector<Isa> levels;
    for (int level = 1; level <= static_cast<int>(kLastIsa); ++level) {
      if (runs_here(static_cast<Isa>(level))) levels.push_back(static_cast<Isa>(level));
    }
    return levels;
  }

  // Sizes of `spec` are set; everything else is chosen here. `extreme`: only -128 and 127 (0 and
  // 127 when non-negative).
  void fill(std::mt19937& random, bool extreme) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    const std::int64_t group_inputs = spec.in_channels / spec.groups;
    weights.resize(
        static_cast<std::size_t>(group_inputs * spec.kernel_height * spec.kernel_width * spec.out_channels));
    x.resize(static_cast<std::size_t>(spec.in_height) * spec.in_width * spec.in_channels);
    const int floor = spec.input_non_negative ? 0 : -128;
    for (auto& w : weights)
      w = static_cast<std::int8_t>(extreme ? (pick(0, 3) != 0 ? -128 : 127) : pick(-128, 127));
    for (auto& v : x)
      v = static_cast<std::int8_t>(extreme ? (pick(0, 3) != 0 ? 127 : floor) : pick(floor, 127));
    bias.resize(static_cast<std::size_t>(spec.out_channels));
    for (auto& b : bias) b = pick(-20000, 20000);
    spec.weights = weights.data();
    spec.bias = pick(0, 4) == 0 ? nullptr : bias.data();
  }

  // One shift (and multiplier) for all or one per channel; `low` .. `high`: range of the shifts.
  void set_requant(std::mt19937& random, Rounding rounding, bool per_channel, int low, int high) {
    const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
    const std::size_t count = per_channel ? static_cast<std::size_t>(spec.out_channels) : 1;
    shift.resize(count);
    multiplier.resize(count);
    for (auto& s : shift) s = pick(low, high);
    for (auto& m : multiplier) m = pick(1 << 30, 0x7fffffff);
    spec.requant.rounding = rounding;
    spec.requant.shift = shift.data();
    spec.requant.multiplier =
        rounding == Rounding::tflite_double || rounding == Rounding::single ? multiplier.data() : nullptr;
    spec.requant.count = static_cast<std::int32_t>(count);
    spec.requant.zero_point = pick(0, 2) == 0 ? pick(-128, 127) : 0;
    spec.requant.low = pick(0, 2) == 0 ? pick(-128, 0) : -128;
    spec.requant.high = pick(0, 2) == 0 ? pick(0, 127) : 127;
  }
};

}  // namespace runnel::kernels::test
