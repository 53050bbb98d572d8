#include "features/dct.h"

#include <cmath>

#include "features/exact_math.h"

namespace runnel::features {

void fill_dct(const DctSpec& spec, std::size_t stride, float* matrix) noexcept {
  const auto coefficients = static_cast<std::size_t>(spec.coefficients);
  for (std::int32_t i = 0; i < spec.filters; ++i) {
    float* row = matrix + static_cast<std::size_t>(i) * stride;
    for (std::size_t k = 0; k < stride; ++k) row[k] = 0;
    for (std::int32_t k = 0; k < spec.coefficients; ++k) {
      // cos(pi/B (i + 1/2) k) = cos(2 pi (2i + 1) k / (4B))
      double value = std::sqrt((k == 0 ? 1.0 : 2.0) / spec.filters) *
                     turn((2 * static_cast<std::int64_t>(i) + 1) * k, 4 * static_cast<std::int64_t>(spec.filters)).cos;
      if (spec.lifter > 0) value *= 1 + 0.5 * spec.lifter * turn(k / (2 * spec.lifter)).sin;
      if (k == 0 && spec.scale_first) value *= std::sqrt(2.0);
      const std::size_t column = !spec.first_last ? static_cast<std::size_t>(k)
                                 : k == 0         ? coefficients - 1
                                                  : static_cast<std::size_t>(k) - 1;
      row[column] = static_cast<float>(value);
    }
  }
}

}  // namespace runnel::features
