// Window functions of the Kaldi recipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/exact_math_constant.h"

namespace runnel::features {

// With W points and a = 2 pi / (W - 1); hann and sqrt_hann are periodic, a = 2 pi / W. i counts from 0.
enum class WindowType : std::uint8_t {
  povey,        // (0.5 - 0.5 cos(a i))^0.85
  hamming,      // 0.54 - 0.46 cos(a i)
  hanning,      // 0.5 - 0.5 cos(a i)
  hann,         // the same, periodic
  blackman,     // c - 0.5 cos(a i) + (0.5 - c) cos(2 a i)
  sine,         // sin(a i / 2)
  rectangular,  // 1
  sqrt_hann,    // sin(a i / 2), periodic: analysis times synthesis is hann (stft.h)
};

// Point i of a window of `count` points; `blackman_coeff` is c of blackman. A window of one point is 1.
constexpr double window_at(WindowType type, double blackman_coeff, std::int64_t i,
                           std::int64_t count) noexcept {
  using exact::constant::turn;
  if (count <= 1) return 1;
  const std::int64_t period = type == WindowType::hann || type == WindowType::sqrt_hann ? count : count - 1;
  const double cosine = turn(i, period).cos;
  switch (type) {
    case WindowType::povey:
      return exact::constant::pow(0.5 - 0.5 * cosine, 0.85);
    case WindowType::hamming:
      return 0.54 - 0.46 * cosine;
    case WindowType::hanning:
    case WindowType::hann:
      return 0.5 - 0.5 * cosine;
    case WindowType::blackman:
      return blackman_coeff - 0.5 * cosine + (0.5 - blackman_coeff) * turn(2 * i, period).cos;
    case WindowType::sine:
    case WindowType::sqrt_hann:
      return turn(i, 2 * period).sin;
    case WindowType::rectangular:
      break;
  }
  return 1;
}

constexpr void fill_window(WindowType type, double blackman_coeff, std::span<float> window) noexcept {
  const auto count = static_cast<std::int64_t>(window.size());
  for (std::int64_t i = 0; i < count; ++i) {
    window[static_cast<std::size_t>(i)] = static_cast<float>(window_at(type, blackman_coeff, i, count));
  }
}

}  // namespace runnel::features
