// Arithmetic of the fixed-point front end.
#pragma once

#include <cstdint>

namespace runnel::features::fixed {

// A 16-bit sample unchanged, or one in [-1, 1) rounded to 16 bits, saturated; NaN becomes 0.
constexpr std::int16_t to_int16(std::int16_t sample) noexcept { return sample; }
constexpr std::int16_t to_int16(float sample) noexcept {
  const float scaled = sample * 32768.0F;
  if (scaled != scaled) return 0;
  if (scaled >= 32767.0F) return 32767;
  if (scaled <= -32768.0F) return -32768;
  return static_cast<std::int16_t>(scaled + (scaled < 0 ? -0.5F : 0.5F));
}

// A fraction in 14 bits, rounded down.
constexpr std::uint16_t noise_fraction(float fraction) noexcept {
  return static_cast<std::uint16_t>(fraction * 16384.0F);
}

// Rounded to the nearest integer.
std::uint32_t square_root(std::uint64_t x) noexcept;

// A parabola through three points of the interval [2^k, 2^(k+1)) around `x`;
// `table`: MicrofrontendTables' gains.
std::int16_t interpolate_gain(std::uint32_t x, const std::int16_t* table) noexcept;
inline constexpr int kSnrBits = 12;
// Signal-to-noise ratios in kSnrBits: x^2 / 4 below 2, x - 1 above, in 6 fractional bits.
constexpr std::uint32_t shrink(std::uint32_t x) noexcept {
  return x < (2U << kSnrBits) ? (x * x) >> 20 : (x >> 6) - 64;
}

// Natural logarithm in `scale_shift` fractional bits; x > 1.
std::uint32_t log(std::uint32_t x, int scale_shift) noexcept;

}  // namespace runnel::features::fixed
