// Requantization of int32 accumulators below 2^30 with Arm's DSP instructions: requantize() in a few instructions where the shift is
// an ordinary one (1 to 30), requantize() itself where it is not. Included by files that are compiled for these instructions.
#pragma once

#include <cstdint>

#include "kernels/requantize.h"

namespace runnel::kernels {
namespace {

// Most significant word of a product; with r: rounded half up.
[[gnu::always_inline]] inline std::int32_t smmul(std::int32_t a, std::int32_t b) noexcept {
  std::int32_t high = 0;
  __asm("smmul %0, %1, %2" : "=r"(high) : "r"(a), "r"(b));
  return high;
}
[[gnu::always_inline]] inline std::int32_t smmulr(std::int32_t a, std::int32_t b) noexcept {
  std::int32_t high = 0;
  __asm("smmulr %0, %1, %2" : "=r"(high) : "r"(a), "r"(b));
  return high;
}

[[gnu::noinline]] inline std::int32_t requantize_any(std::int64_t value, const Requant& how, std::int32_t channel) noexcept {
  return static_cast<std::int32_t>(requantize(value, how, channel));
}

// |value| < 2^30; other values take the way through int64.
[[gnu::always_inline]] inline std::int32_t requantize_device(std::int32_t value, const Requant& how, std::int32_t channel) noexcept {
  const std::int32_t entry = how.count == 1 ? 0 : channel;
  const std::int32_t shift = how.shift[entry];
  if (static_cast<std::uint32_t>(shift) - 1 >= 30) return requantize_any(value, how, channel);
  const std::int32_t half = 1 << (shift - 1);
  switch (how.rounding) {
    case Rounding::half_up: value = (value + half) >> shift; break;
    case Rounding::half_even: {
      const std::int32_t sum = value + half;
      value = sum >> shift;
      // A tie leaves no bits.
      if ((sum & (half + (half - 1))) == 0) value &= ~1;
      break;
    }
    case Rounding::tflite_double: {
      // Doubled before: |value| is below 2^30. Ties away from zero.
      const std::int32_t high = smmulr(value * 2, how.multiplier[entry]);
      value = (high + half + (high >> 31)) >> shift;
      break;
    }
    case Rounding::single:
      value = shift == 1 ? smmulr(value, how.multiplier[entry]) : (smmul(value, how.multiplier[entry]) + (half >> 1)) >> (shift - 1);
      break;
  }
  value += how.zero_point;
  return value < how.low ? how.low : value > how.high ? how.high : value;
}

// An accumulator of int16 data: most are small.
[[gnu::always_inline]] inline std::int16_t requantize_wide(std::int64_t value, const Requant& how, std::int32_t channel) noexcept {
  constexpr std::int32_t kNear = 1 << 30;
  const auto low = static_cast<std::int32_t>(value);
  const bool near = low == value && low > -kNear && low < kNear;
  return static_cast<std::int16_t>(near ? requantize_device(low, how, channel) : requantize_any(value, how, channel));
}

}  // namespace
}  // namespace runnel::kernels
