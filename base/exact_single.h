// Elementary functions in single precision with one fixed sequence of operations: the same bits on every
// machine, and cheap where double precision is done in software.
#pragma once

#include <bit>
#include <cstdint>

namespace runnel::exact {

// e^x for -87 <= x <= 88 with a relative error of 2e-7: 2^n * e^r with |r| <= ln 2 / 2; e^r is a polynomial
// of degree 7 (Cephes' expf).
inline float exp_single(float x) noexcept {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const float shifted = x * 1.44269504f + kShift;
  const float n = shifted - kShift;
  // ln 2 in two parts; the first has so few bits that its product with n is exact.
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * (r * r) + r) + 1.0f;
  const std::uint32_t whole = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kShift);
  return p * std::bit_cast<float>((whole + 127u) << 23);
}

// The natural logarithm of a finite x > 0 that is not subnormal, within 3e-7 of it or relative to it: x = 2^n
// * m with 0.7 < m < 1.42; ln m is a polynomial of degree 9 (Cephes' logf).
inline float log_single(float x) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  // So that the mantissa of a number just below a power of two counts as just below 1.
  constexpr std::uint32_t kRootOfHalf = 0x3f3504f3u;
  const std::uint32_t above = bits - kRootOfHalf;
  const auto n = static_cast<float>(static_cast<std::int32_t>(above) >> 23);
  const float m = std::bit_cast<float>((above & 0x007fffffu) + kRootOfHalf) - 1.0f;
  float p = 7.0376836292e-2f * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float square = m * m;
  // ln 2 in two parts, as in exp_single().
  const float tail = (p * m * square + n * -2.12194440e-4f) - 0.5f * square;
  return (m + tail) + n * 0.693359375f;
}

}  // namespace runnel::exact
