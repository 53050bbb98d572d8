// Window functions of the Kaldi recipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace runnel::features {

// With W points and a = 2 pi / (W - 1); hann is the periodic form, a = 2 pi / W. i counts from 0.
enum class WindowType : std::uint8_t {
  povey,        // (0.5 - 0.5 cos(a i))^0.85
  hamming,      // 0.54 - 0.46 cos(a i)
  hanning,      // 0.5 - 0.5 cos(a i)
  hann,         // the same, periodic
  blackman,     // c - 0.5 cos(a i) + (0.5 - c) cos(2 a i)
  sine,         // sin(a i / 2)
  rectangular,  // 1
};

// Point i of a window of `count` points.
double window_at(WindowType type, double blackman_coeff, std::int64_t i, std::int64_t count) noexcept;

// `blackman_coeff` is c; the others do not use it. A window of one point is 1.
void fill_window(WindowType type, double blackman_coeff, std::span<float> window) noexcept;

}  // namespace runnel::features
