// Requantization of int32 accumulators below 2^30 on microcontrollers, with Arm's DSP instructions where they
// are: a few instructions for ordinary shifts (1 to 30), requantize() itself for others. Included by files
// compiled for these processors.
#pragma once

#include <cstdint>

#include "kernels/arithmetic/requantize.h"

namespace runnel::kernels {
namespace {

// Most significant word of a product; smmulr rounds it half up.
#if defined(__arm__)
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
#else
[[gnu::always_inline]] inline std::int32_t smmul(std::int32_t a, std::int32_t b) noexcept {
  return static_cast<std::int32_t>(std::int64_t{a} * b >> 32);
}
[[gnu::always_inline]] inline std::int32_t smmulr(std::int32_t a, std::int32_t b) noexcept {
  return static_cast<std::int32_t>((std::int64_t{a} * b + (std::int64_t{1} << 31)) >> 32);
}
#endif

// A Requant in registers, made once for many accumulators.
struct Scale {
  [[gnu::always_inline]] explicit Scale(const Requant& how) noexcept
      : all(how),
        multiplier(how.multiplier),
        shift(how.shift),
        step(how.count == 1 ? 0 : 1),
        zero_point(how.zero_point),
        low(how.low),
        high(how.high),
        rounding(how.rounding) {}
  const Requant& all;
  const std::int32_t *multiplier, *shift;
  std::int32_t step, zero_point, low, high;
  Rounding rounding;
};

[[gnu::noinline]] inline std::int32_t requantize_any(std::int64_t value, const Requant& how,
                                                     std::int32_t channel) noexcept {
  return static_cast<std::int32_t>(requantize(value, how, channel));
}

// |value| < 2^30. kAny: shifts may be unusual, and those are computed in int64.
template <bool kAny = true>
[[gnu::always_inline]] inline std::int32_t requantize_device(std::int32_t value, const Scale& how,
                                                             std::int32_t channel) noexcept {
  const std::int32_t entry = channel * how.step;
  const std::int32_t shift = how.shift[entry];
  if (kAny && static_cast<std::uint32_t>(shift) - 1 >= 30) return requantize_any(value, how.all, channel);
  const std::int32_t half = 1 << (shift - 1);
  if (how.rounding == Rounding::half_up) {
    value = (value + half) >> shift;
  } else if (how.rounding == Rounding::half_even) {
    const std::int32_t sum = value + half;
    value = sum >> shift;
    // A tie leaves no bits.
    if ((sum & (half + (half - 1))) == 0) value &= ~1;
  } else if (how.rounding == Rounding::tflite_double) {
    // Doubled first, as |value| is below 2^30. Ties away from zero.
    const std::int32_t high = smmulr(value * 2, how.multiplier[entry]);
    value = (high + half + (high >> 31)) >> shift;
  } else {
    value = shift == 1 ? smmulr(value, how.multiplier[entry])
                       : (smmul(value, how.multiplier[entry]) + (half >> 1)) >> (shift - 1);
  }
  value += how.zero_point;
  return value < how.low ? how.low : value > how.high ? how.high : value;
}

// An accumulator of int16 data: most are small.
[[gnu::always_inline]] inline std::int16_t requantize_wide(std::int64_t value, const Scale& how,
                                                           std::int32_t channel) noexcept {
  constexpr std::int32_t kNear = 1 << 30;
  const auto low = static_cast<std::int32_t>(value);
  const bool near = low == value && low > -kNear && low < kNear;
  return static_cast<std::int16_t>(near ? requantize_device(low, how, channel)
                                        : requantize_any(value, how.all, channel));
}

}  // namespace
}  // namespace runnel::kernels
