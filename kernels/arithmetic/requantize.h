// Requantization: from a wide accumulator to the integers of a tensor. The one place that defines rounding.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace runnel::kernels {

// How a scaled value becomes an integer. The numbers are part of the model file.
enum class Rounding : std::uint8_t {
  half_up = 0,    // floor(x + 1/2): ESP32, ESP32-S3, Ethos-U "natural"; shifts
  half_even = 1,  // nearest, ties to even: ESP32-P4; shifts
  tflite_double =
      2,       // Q31 multiplier: doubling high multiplication rounded, then a shift with ties away from zero
  single = 3,  // Q31 multiplier: one 64-bit rounding (CMSIS-NN, newer TFLite)
};

// Files compiled for newer instruction sets call these too. Always inlined, so that the linker cannot keep a
// copy with those instructions for everybody.
#define RUNNEL_KERNEL_INLINE [[gnu::always_inline]] inline

// Before a loop whose result may lie in the place of an operand, element by element: each turn reads only
// what no earlier turn wrote. Without it compilers check for overlaps and take the scalar loop then.
#if defined(__GNUC__) && !defined(__clang__)
#define RUNNEL_IN_PLACE_LOOP _Pragma("GCC ivdep")
#elif defined(__riscv_vector)
#define RUNNEL_IN_PLACE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define RUNNEL_IN_PLACE_LOOP  // Clang warns where it does not succeed
#endif

// value / 2^shift, rounded: half_even to nearest with ties to even, every other rounding floor(x + 1/2). Any
// shift is allowed; shift < 0 multiplies by 2^-shift and saturates to int64.
RUNNEL_KERNEL_INLINE constexpr std::int64_t round_shift(std::int64_t value, int shift,
                                                        Rounding rounding) noexcept {
  constexpr std::int64_t lowest = -0x7fffffffffffffff - 1;
  constexpr std::int64_t highest = 0x7fffffffffffffff;
  if (shift <= 0) {
    const int left = -shift;
    if (value == 0 || left == 0) return value;
    if (left > 62 || value > (highest >> left)) return value > 0 ? highest : lowest;
    if (value < (lowest >> left)) return lowest;
    return value * (std::int64_t{1} << left);
  }
  if (shift > 63) return 0;  // |value / 2^shift| <= 1/2, and the tie -1/2 rounds to 0
  const std::int64_t floor = value >> shift;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = static_cast<std::uint64_t>(value) & (half + (half - 1));
  if (rounding == Rounding::half_even)
    return floor + ((rest > half || (rest == half && (floor & 1) != 0)) ? 1 : 0);
  return floor + (rest >= half ? 1 : 0);
}

template <class T>
RUNNEL_KERNEL_INLINE constexpr T saturate(std::int64_t value) noexcept {
  constexpr std::int64_t low = std::numeric_limits<T>::min();
  constexpr std::int64_t high = std::numeric_limits<T>::max();
  return static_cast<T>(value < low ? low : value > high ? high : value);
}

// Rounds a float already divided by the output's scale. half_up is floorf(x + 0.5f) with the sum rounded to
// float32, as ESP-DL computes it (specification: the vendor's C code); all others round to nearest even.
// NaN gives 0.
RUNNEL_KERNEL_INLINE std::int64_t round_float(float value, Rounding rounding) noexcept {
  constexpr float limit = 1e9f;
  if (!(value > -limit)) return value != value ? 0 : static_cast<std::int64_t>(-limit);
  if (value > limit) return static_cast<std::int64_t>(limit);
  return static_cast<std::int64_t>(rounding == Rounding::half_up ? __builtin_floorf(value + 0.5f)
                                                                 : __builtin_nearbyintf(value));
}

// 2^exponent as a float: 0 below the smallest, infinity above the largest. As ldexpf(), which takes 300 bytes
// on a microcontroller.
RUNNEL_KERNEL_INLINE float power_of_two(int exponent) noexcept {
  std::uint32_t bits = 0;
  if (exponent >= -126)
    bits = static_cast<std::uint32_t>(exponent > 127 ? 255 : exponent + 127) << 23;
  else if (exponent >= -149)
    bits = std::uint32_t{1} << (exponent + 149);
  return std::bit_cast<float>(bits);
}

// Parameters of a requantization: scale, add the zero point, clamp to [low, high] (activation and type
// range in one). With `multiplier` null the scale is 2^-shift. Arrays hold `count` entries: 1, or one
// per output channel.
struct Requant {
  Rounding rounding = Rounding::half_up;
  const std::int32_t* multiplier = nullptr;  // Q31 in [0, 2^31), normally from 2^30; or null
  const std::int32_t* shift = nullptr;       // right shift; negative: left
  std::int32_t count = 1;
  std::int32_t zero_point = 0;
  std::int32_t low = -128;
  std::int32_t high = 127;
};

// Q31 multiplication with 2^-shift. Source of both formulas: gemmlowp's
// SaturatingRoundingDoublingHighMul then RoundingDivideByPOT (tflite_double); CMSIS-NN's
// arm_nn_requantize with CMSIS_NN_USE_SINGLE_ROUNDING (single).
// Any value; 0 <= multiplier; -31 <= shift <= 62. Intermediate left shifts saturate to int64.
RUNNEL_KERNEL_INLINE constexpr std::int64_t multiply_shift(std::int64_t value, std::int32_t multiplier,
                                                           int shift, Rounding rounding) noexcept {
  if (rounding != Rounding::single && shift < 0) value = round_shift(value, shift, rounding);
  // value * multiplier = floor * 2^31 + rest, in two pieces that fit into 64 bits.
  const std::int64_t low_product = (value & 0x7fffffff) * multiplier;
  const std::int64_t floor = (value >> 31) * multiplier + (low_product >> 31);
  const std::int64_t rest = low_product & 0x7fffffff;
  if (rounding == Rounding::single) {
    if (shift > 0) return round_shift(floor, shift, Rounding::half_up);
    const std::int64_t left = round_shift(floor, shift, Rounding::half_up);
    std::int64_t sum = 0;
    return __builtin_add_overflow(left, round_shift(rest, 31 + shift, Rounding::half_up), &sum) ? left : sum;
  }
  // Doubling high multiplication, to nearest, ties up (gemmlowp's truncated nudged product gives the same).
  const std::int64_t high = floor + (rest >= (std::int64_t{1} << 30) ? 1 : 0);
  if (shift <= 0) return high;
  const std::int64_t mask = (std::int64_t{1} << shift) - 1;
  const std::int64_t threshold = (mask >> 1) + (high < 0 ? 1 : 0);
  return (high >> shift) + ((high & mask) > threshold ? 1 : 0);
}

// The specification of every fused requantization. `channel` selects the entry where there is
// one per channel.
RUNNEL_KERNEL_INLINE std::int64_t requantize(std::int64_t accumulator, const Requant& how,
                                             std::int32_t channel) noexcept {
  const std::int32_t entry = how.count == 1 ? 0 : channel;
  std::int64_t value = how.multiplier == nullptr ? round_shift(accumulator, how.shift[entry], how.rounding)
                                                 : multiply_shift(accumulator, how.multiplier[entry],
                                                                  how.shift[entry], how.rounding);
  // Far beyond every type's range the zero point cannot matter: this limit keeps the sum from overflowing.
  constexpr std::int64_t far = std::int64_t{1} << 40;
  value = (value > far ? far : value < -far ? -far : value) + how.zero_point;
  return value < how.low ? how.low : value > how.high ? how.high : value;
}

}  // namespace runnel::kernels
