// From a wide accumulator to the integers of a tensor: the one place where rounding is defined.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace runnel::kernels {

// How a scaled value becomes an integer. The numbers are part of the model file.
enum class Rounding : std::uint8_t {
  half_up = 0,         // floor(x + 1/2): ESP32, ESP32-S3, Ethos-U "natural"; shifts
  half_even = 1,       // nearest, ties to even: ESP32-P4; shifts
  tflite_double = 2,   // Q31 multiplier: doubling high multiplication rounded, then a shift with ties away from zero
  single = 3,          // Q31 multiplier: one 64-bit rounding (CMSIS-NN's and newer TFLite's way)
};

// value / 2^shift, rounded; shift <= 0 multiplies by 2^-shift (saturated to int64 only by its range: |value| * 2^-shift < 2^63).
constexpr std::int64_t round_shift(std::int64_t value, int shift, Rounding rounding) noexcept {
  if (shift <= 0) return value * (std::int64_t{1} << -shift);
  if (shift > 62) return 0;
  const std::int64_t floor = value >> shift;
  const std::int64_t rest = value - (floor * (std::int64_t{1} << shift));
  const std::int64_t half = std::int64_t{1} << (shift - 1);
  if (rounding == Rounding::half_even) return floor + ((rest > half || (rest == half && (floor & 1) != 0)) ? 1 : 0);
  return floor + (rest >= half ? 1 : 0);
}

template <class T>
constexpr T saturate(std::int64_t value) noexcept {
  constexpr std::int64_t low = std::numeric_limits<T>::min();
  constexpr std::int64_t high = std::numeric_limits<T>::max();
  return static_cast<T>(value < low ? low : value > high ? high : value);
}

// A float that is already divided by the output's scale. half_up is floorf(x + 0.5f) with the sum rounded to float32,
// as ESP-DL computes it (specification: the vendor's C code); anything else rounds to nearest even. NaN gives 0.
inline std::int64_t round_float(float value, Rounding rounding) noexcept {
  constexpr float limit = 1e9f;
  if (!(value > -limit)) return value != value ? 0 : static_cast<std::int64_t>(-limit);
  if (value > limit) return static_cast<std::int64_t>(limit);
  return static_cast<std::int64_t>(rounding == Rounding::half_up ? std::floor(value + 0.5f) : std::nearbyint(value));
}

// 2^exponent as a float, exact for -126 <= exponent <= 127.
inline float power_of_two(int exponent) noexcept { return std::ldexp(1.0f, exponent); }

// What happens to an accumulator. With `multiplier` null the scale is 2^-shift. Arrays hold `count` entries: 1, or one per
// output channel. Then the zero point is added and the result clamped to [low, high] (activation and type range in one).
struct Requant {
  Rounding rounding = Rounding::half_up;
  const std::int32_t* multiplier = nullptr;   // Q31 in [2^30, 2^31), or null
  const std::int32_t* shift = nullptr;        // right shift; negative: left
  std::int32_t count = 1;
  std::int32_t zero_point = 0;
  std::int32_t low = -128;
  std::int32_t high = 127;
};

// Q31 multiplication with 2^-shift. Source of both formulas: gemmlowp's SaturatingRoundingDoublingHighMul followed by
// RoundingDivideByPOT (tflite_double), and CMSIS-NN's arm_nn_requantize with CMSIS_NN_USE_SINGLE_ROUNDING (single).
constexpr std::int64_t multiply_shift(std::int64_t value, std::int32_t multiplier, int shift, Rounding rounding) noexcept {
  if (rounding == Rounding::single) {
    const int total = 31 + shift;
    const std::int64_t product = value * multiplier;
    return total <= 0 ? product * (std::int64_t{1} << -total) : (product + (std::int64_t{1} << (total - 1))) >> total;
  }
  const std::int64_t shifted = shift < 0 ? value * (std::int64_t{1} << -shift) : value;
  const std::int64_t product = shifted * multiplier;
  const std::int64_t high = (product + (product >= 0 ? (std::int64_t{1} << 30) : 1 - (std::int64_t{1} << 30))) / (std::int64_t{1} << 31);
  if (shift <= 0) return high;
  const std::int64_t mask = (std::int64_t{1} << shift) - 1;
  const std::int64_t threshold = (mask >> 1) + (high < 0 ? 1 : 0);
  return (high >> shift) + ((high & mask) > threshold ? 1 : 0);
}

// The specification of every fused requantization. `channel` picks the entry where there is one per channel.
inline std::int64_t requantize(std::int64_t accumulator, const Requant& how, std::int32_t channel) noexcept {
  const std::int32_t entry = how.count == 1 ? 0 : channel;
  std::int64_t value = how.multiplier == nullptr
                           ? round_shift(accumulator, how.shift[entry], how.rounding)
                           : multiply_shift(accumulator, how.multiplier[entry], how.shift[entry], how.rounding);
  value += how.zero_point;
  return value < how.low ? how.low : value > how.high ? how.high : value;
}

}  // namespace runnel::kernels
