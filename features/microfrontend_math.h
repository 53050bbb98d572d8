// The arithmetic of the fixed-point front end, function by function. Floating point appears only in what makes tables.
#pragma once

#include <cstdint>
#include <span>

namespace runnel::features::fixed {

// A sample as it comes, or in [-1, 1): rounded to 16 bits, saturated; what is no number becomes 0.
constexpr std::int16_t to_int16(std::int16_t sample) noexcept { return sample; }
constexpr std::int16_t to_int16(float sample) noexcept {
  const float scaled = sample * 32768.0F;
  if (scaled != scaled) return 0;
  if (scaled >= 32767.0F) return 32767;
  if (scaled <= -32768.0F) return -32768;
  return static_cast<std::int16_t>(scaled + (scaled < 0 ? -0.5F : 0.5F));
}

// 0.5 - 0.5 cos(2 pi (i + 0.5) / size) in 12 fractional bits.
void fill_window(std::span<std::int16_t> window) noexcept;

// 1127 ln(1 + hz / 700) in single precision.
float mel(float hz) noexcept;
// A weight and what is missing to 1, in 12 fractional bits.
void split_weight(float weight, std::int16_t& rising, std::int16_t& falling) noexcept;

// A fraction in 14 bits, rounded down.
constexpr std::uint16_t noise_fraction(float fraction) noexcept { return static_cast<std::uint16_t>(fraction * 16384.0F); }

// Rounded to the nearest integer.
std::uint32_t square_root(std::uint64_t x) noexcept;

// x^-strength in `bits` fractional bits, at most 32767; x > 0.
std::int16_t gain(float x, float strength, int bits) noexcept;
// A parabola through three points of the interval [2^k, 2^(k+1)) in which `x` lies; `table` as Microfrontend makes it.
std::int16_t interpolate_gain(std::uint32_t x, const std::int16_t* table) noexcept;
inline constexpr int kSnrBits = 12;
// Signal-to-noise ratios in kSnrBits: x^2 / 4 below 2, x - 1 above, in 6 fractional bits.
constexpr std::uint32_t shrink(std::uint32_t x) noexcept {
  return x < (2U << kSnrBits) ? (x * x) >> 20 : (x >> 6) - 64;
}

// Natural logarithm in `scale_shift` fractional bits; x > 1.
std::uint32_t log(std::uint32_t x, int scale_shift) noexcept;

}  // namespace runnel::features::fixed
