// Functions of 32-bit fixed-point numbers as TensorFlow Lite's quantized operators define them (gemmlowp's
// algorithms, restated): integers only, so every machine computes the same bits. "Qi" has i integer bits and
// 31 - i fractional ones.
#pragma once

#include <cstdint>

#include "kernels/arithmetic/requantize.h"

namespace runnel::kernels::fixed {

inline constexpr std::int32_t kOne = 0x7fffffff;  // the largest Q0, used for 1

// a * b / 2^31, rounded to nearest, ties up; the one overflow saturates.
constexpr std::int32_t multiply(std::int32_t a, std::int32_t b) noexcept {
  if (a == b && a == std::numeric_limits<std::int32_t>::min()) return kOne;
  const std::int64_t product = std::int64_t{a} * b;
  const std::int64_t nudge = product >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30);
  return static_cast<std::int32_t>((product + nudge) / (std::int64_t{1} << 31));
}

// x / 2^exponent, ties away from zero; 0 <= exponent <= 31.
constexpr std::int32_t divide_by_power(std::int32_t x, int exponent) noexcept {
  const std::int64_t mask = (std::int64_t{1} << exponent) - 1;
  const std::int64_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return static_cast<std::int32_t>((std::int64_t{x} >> exponent) + ((x & mask) > threshold ? 1 : 0));
}

// x * 2^exponent, saturated.
constexpr std::int32_t multiply_by_power(std::int32_t x, int exponent) noexcept {
  return saturate<std::int32_t>(std::int64_t{x} * (std::int64_t{1} << exponent));
}

// e^a of a in [-1/4, 0), Q0: Taylor series around -1/8.
constexpr std::int32_t exp_of_small(std::int32_t a) noexcept {
  constexpr std::int32_t exp_of_minus_eighth = 1895147668, third = 715827883;
  const std::int32_t x = a + (1 << 28);
  const std::int32_t x2 = multiply(x, x), x3 = multiply(x2, x), x4 = multiply(x2, x2);
  const std::int32_t tail = divide_by_power(multiply(divide_by_power(x4, 2) + x3, third) + x2, 1);
  return saturate<std::int32_t>(std::int64_t{exp_of_minus_eighth} + multiply(exp_of_minus_eighth, x + tail));
}

// e^a of a <= 0 in Q`integer_bits` (at most 5), as Q0.
constexpr std::int32_t exp_of_negative(std::int32_t a, int integer_bits) noexcept {
  if (a == 0) return kOne;
  const int fraction_bits = 31 - integer_bits;
  const std::int32_t quarter = 1 << (fraction_bits - 2);
  const std::int32_t small = (a & (quarter - 1)) - quarter;  // a modulo 1/4, in [-1/4, 0)
  std::int32_t result = exp_of_small(multiply_by_power(small, integer_bits));
  const std::int32_t rest = small - a;  // a multiple of 1/4
  constexpr std::int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308,
                                     39332535,   720401,     242};  // e^-2^k, k from -2
  for (int k = -2; k < integer_bits; ++k) {
    if ((rest & (std::int32_t{1} << (fraction_bits + k))) != 0) result = multiply(result, powers[k + 2]);
  }
  return result;
}

// 2 / (1 + a) for a in [0, 1), Q0, as Q2, approximately: three steps of Newton's method.
constexpr std::int32_t two_over_one_plus(std::int32_t a) noexcept {
  const std::int64_t sum = std::int64_t{a} + kOne;
  const auto half = static_cast<std::int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
  constexpr std::int32_t first = 1515870810, slope = -1010580540, one = 1 << 29;  // 48/17, -32/17 and 1 in Q2
  std::int32_t x = first + multiply(half, slope);
  for (int step = 0; step < 3; ++step) x += multiply_by_power(multiply(x, one - multiply(half, x)), 2);
  return x;
}

// 1 / (1 + a) for a in [0, 1), Q0.
constexpr std::int32_t one_over_one_plus(std::int32_t a) noexcept {
  return multiply_by_power(two_over_one_plus(a), 1);
}

// 1 / (1 + e^-a) for a in Q4, as Q0.
constexpr std::int32_t logistic(std::int32_t a) noexcept {
  if (a == 0) return 1 << 30;
  const std::int32_t positive = one_over_one_plus(exp_of_negative(a > 0 ? -a : a, 4));
  return a > 0 ? positive : kOne - positive;
}

// tanh of a in Q4, as Q0.
constexpr std::int32_t tanh(std::int32_t a) noexcept {
  if (a == 0) return 0;
  // With e = e^-2|a|: (1 - e) / (1 + e) = 2 / (1 + e) - 1. The doubled argument: the same bits in Q5.
  const std::int32_t positive =
      multiply_by_power(two_over_one_plus(exp_of_negative(a > 0 ? -a : a, 5)) - (1 << 29), 2);
  return a > 0 ? positive : -positive;
}

// The reciprocal of x > 0 in Q`integer_bits`: 1 / x = result * 2^-bits_over_unit, result in Q0.
constexpr std::int32_t reciprocal(std::int32_t x, int integer_bits, int& bits_over_unit) noexcept {
  const int headroom = __builtin_clz(static_cast<std::uint32_t>(x));
  bits_over_unit = integer_bits - headroom;
  return one_over_one_plus(
      static_cast<std::int32_t>((static_cast<std::uint32_t>(x) << headroom) - (std::uint32_t{1} << 31)));
}

// The largest input that, shifted left by `left_shift` as Q`integer_bits`, stays inside [-(2^bits - 1),
// 2^bits - 1].
constexpr std::int32_t input_radius(int integer_bits, int left_shift) noexcept {
  double radius = ((1 << integer_bits) - 1) * static_cast<double>(std::int64_t{1} << (31 - integer_bits));
  for (int i = 0; i < left_shift; ++i) radius /= 2;
  for (int i = left_shift; i < 0; ++i) radius *= 2;
  return static_cast<std::int32_t>(radius > 1e9 ? 1e9 : radius);
}

}  // namespace runnel::kernels::fixed
