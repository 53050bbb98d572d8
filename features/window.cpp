#include "features/window.h"

#include "features/exact_math.h"

namespace runnel::features {

void fill_window(WindowType type, double blackman_coeff, std::span<float> window) noexcept {
  const auto count = static_cast<std::int64_t>(window.size());
  const std::int64_t period = type == WindowType::hann ? count : count - 1;
  for (std::int64_t i = 0; i < count; ++i) {
    double value = 1;
    if (count > 1) {
      const double cosine = turn(i, period).cos;
      switch (type) {
        case WindowType::povey: value = pow(0.5 - 0.5 * cosine, 0.85); break;
        case WindowType::hamming: value = 0.54 - 0.46 * cosine; break;
        case WindowType::hanning:
        case WindowType::hann: value = 0.5 - 0.5 * cosine; break;
        case WindowType::blackman:
          value = blackman_coeff - 0.5 * cosine + (0.5 - blackman_coeff) * turn(2 * i, period).cos;
          break;
        case WindowType::sine: value = turn(i, 2 * period).sin; break;
        case WindowType::rectangular: break;
      }
    }
    window[static_cast<std::size_t>(i)] = static_cast<float>(value);
  }
}

}  // namespace runnel::features
