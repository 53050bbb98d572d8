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

}  // namespace runnel::exact
