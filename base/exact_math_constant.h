// constexpr forms of the functions of exact_math.h: tables for known settings can be constants, with the same
// bits as tables computed on the machine.
#pragma once

#include <bit>
#include <cstdint>

#include "base/exact_math.h"

namespace runnel::exact::constant {

// Taylor series for 0 <= a <= pi/4: the first omitted term is below 2^-56 of the result.
constexpr SinCos octant(double a) noexcept {
  const double x = a * a;
  double s = 0, c = 0;
  for (int k = 17; k >= 3; k -= 2) s = (1 + s) * (-x / (k * (k - 1)));
  for (int k = 18; k >= 2; k -= 2) c = (1 + c) * (-x / (k * (k - 1)));
  return {a + a * s, 1 + c};
}

// The angle is (octants + rest) eighths of a turn with 0 <= rest < 1, or its mirror 1 - rest.
constexpr SinCos unfold(int octants, double rest, double mirrored) noexcept {
  const bool odd = (octants & 1) != 0;
  SinCos r = octant((odd ? mirrored : rest) * (kPi / 4));
  if (((octants + 1) & 2) != 0) r = {r.cos, r.sin};
  if ((octants & 4) != 0) r.sin = -r.sin;
  if (((octants + 2) & 4) != 0) r.cos = -r.cos;
  return r;
}

constexpr SinCos turn(std::int64_t k, std::int64_t n) noexcept {
  k %= n;
  if (k < 0) k += n;
  const std::int64_t eighths = 8 * k, whole = eighths / n, rest = eighths - whole * n;
  const auto size = static_cast<double>(n);
  return unfold(static_cast<int>(whole), static_cast<double>(rest) / size,
                static_cast<double>(n - rest) / size);
}

constexpr SinCos turn(double x) noexcept {
  x -= static_cast<double>(static_cast<std::int64_t>(x));
  if (x < 0) x += 1;
  const double eighths = 8 * x;
  const int whole = static_cast<int>(eighths);
  const double rest = eighths - whole;
  return unfold(whole & 7, rest, 1 - rest);
}

constexpr double log(double x) noexcept {
  int exponent = 0;
  if (x < 2.2250738585072014e-308) {  // subnormal: scale up
    x *= 18014398509481984.0;         // 2^54
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  // log m = 2 atanh(f), f = (m-1)/(m+1), |f| < 0.172
  const double f = (m - 1) / (m + 1), x2 = f * f;
  double series = 0;
  for (int k = 23; k >= 3; k -= 2) series = (series + 1.0 / k) * x2;
  constexpr double kHigh = 6.93147180369123816490e-01,
                   kLow = 1.90821492927058770002e-10;  // ln 2 in two parts
  return exponent * kHigh + (2 * f + (2 * f * series + exponent * kLow));
}

constexpr double log1p(double x) noexcept {
  const double u = 1 + x;
  if (u == 1) return x;
  return log(u) * (x / (u - 1));  // Kahan's correction of the rounding of 1 + x
}

constexpr double exp(double x) noexcept {
  if (x > 709) x = 709;
  if (x < -708) return 0;
  const int k = static_cast<int>(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
  const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  double sum = 0;
  for (int i = 16; i >= 1; --i) sum = (1 + sum) * (r / i);
  return (1 + sum) * std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

constexpr double pow(double x, double y) noexcept {
  if (x <= 0) return y == 0 ? 1.0 : 0.0;
  return exp(y * log(x));
}

// Correctly rounded, as IEC 60559 requires of hardware. 0 for x that is not a normal number above 0.
constexpr double sqrt(double x) noexcept {
  if (!(x >= 2.2250738585072014e-308) || x > 1.7976931348623157e308) return 0;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  std::uint64_t mantissa = (bits & 0x000fffffffffffffu) | 0x0010000000000000u;
  if ((exponent & 1) != 0) {
    mantissa <<= 1;
    --exponent;
  }
  // Digit by digit: 54 bits of the root of mantissa * 2^54. The last one decides the rounding;
  // ties cannot occur.
  std::uint64_t root = 0, rest = 0;
  for (int i = 0; i < 54; ++i) {
    const int at = 52 - 2 * i;  // two more bits of the mantissa, then zeros
    rest = (rest << 2) | (at >= 0 ? (mantissa >> at) & 3 : 0);
    const std::uint64_t trial = (root << 2) | 1;
    root <<= 1;
    if (rest < trial) continue;
    rest -= trial;
    root |= 1;
  }
  const std::uint64_t rounded = (root + 1) >> 1;
  return std::bit_cast<double>((rounded & 0x000fffffffffffffu) |
                               (static_cast<std::uint64_t>(exponent / 2 + 1023) << 52));
}

constexpr double bessel_i0(double x) noexcept {
  const double q = x * x / 4;
  double term = 1, sum = 1;
  for (int k = 1; k <= 200; ++k) {
    term *= q / (static_cast<double>(k) * k);
    sum += term;
    if (term < sum * 1e-18) break;
  }
  return sum;
}

}  // namespace runnel::exact::constant
