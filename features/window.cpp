#include "features/window.h"

#include "features/exact_math.h"

namespace runnel::features {

double window_at(WindowType type, double blackman_coeff, std::int64_t i, std::int64_t count) noexcept {
  if (count <= 1) return 1;
  const std::int64_t period = type == WindowType::hann ? count : count - 1;
  const double cosine = turn(i, period).cos;
  switch (type) {
    case WindowType::povey:
      return pow(0.5 - 0.5 * cosine, 0.85);
    case WindowType::hamming:
      return 0.54 - 0.46 * cosine;
    case WindowType::hanning:
    case WindowType::hann:
      return 0.5 - 0.5 * cosine;
    case WindowType::blackman:
      return blackman_coeff - 0.5 * cosine + (0.5 - blackman_coeff) * turn(2 * i, period).cos;
    case WindowType::sine:
      return turn(i, 2 * period).sin;
    case WindowType::rectangular:
      break;
  }
  return 1;
}

void fill_window(WindowType type, double blackman_coeff, std::span<float> window) noexcept {
  const auto count = static_cast<std::int64_t>(window.size());
  for (std::int64_t i = 0; i < count; ++i) {
    window[static_cast<std::size_t>(i)] = static_cast<float>(window_at(type, blackman_coeff, i, count));
  }
}

}  // namespace runnel::features
