// Factors of the fixed-point FFT, computed at run time or at compile time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/exact_math_constant.h"

namespace runnel::features::fixed {

// The largest integer that is not above x; |x| < 2^31.
constexpr std::int32_t floor_to_int(double x) noexcept {
  const auto whole = static_cast<std::int32_t>(x);
  return static_cast<double>(whole) > x ? whole - 1 : whole;
}

// 32767 exp(-2 pi i x), rounded to integers: a pair.
constexpr void fft_factor(double x, std::int16_t* pair) noexcept {
  const exact::SinCos at = exact::constant::turn(x);
  pair[0] = static_cast<std::int16_t>(floor_to_int(32767 * at.cos + 0.5));
  pair[1] = static_cast<std::int16_t>(floor_to_int(32767 * -at.sin + 0.5));
}

// Radix of the first pass for `half` complex points: 2 if that is not a power of 4.
constexpr std::size_t first_radix(std::size_t half) noexcept { return (half & 0x5555'5555U) == 0 ? 2 : 4; }

// Factors of all passes in order of use, n/2 - 1 pairs with room for n/2, then of the last step, n/4 pairs.
constexpr std::size_t fft_factor_halves(std::size_t n) noexcept { return 2 * (n / 2 + n / 4); }
constexpr void fill_fft_factors(std::size_t n, std::int16_t* factors) noexcept {
  const std::size_t half = n / 2;
  std::int16_t* next = factors;
  for (std::size_t groups = 1, radix = first_radix(half); groups < half; groups *= radix, radix = 4) {
    for (std::size_t j = 1; j < radix; ++j) {
      for (std::size_t k = 0; k < groups; ++k, next += 2)
        fft_factor(static_cast<double>(k * j) / static_cast<double>(radix * groups), next);
    }
  }
  next[0] = next[1] = 0;
  next = factors + n;
  for (std::size_t k = 0; k < half / 2; ++k, next += 2)
    fft_factor((static_cast<double>(k + 1) / static_cast<double>(half) + 0.5) / 2, next);
}

}  // namespace runnel::features::fixed
