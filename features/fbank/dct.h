// DCT matrix: cepstral coefficients from log-mel energies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/exact_math_constant.h"

namespace runnel::features {

struct DctSpec {
  std::int32_t filters, coefficients;
  double lifter;     // Q of 1 + Q/2 sin(pi k / Q); 0: none
  bool first_last;   // coefficient 0 in the last column
  bool scale_first;  // coefficient 0 times sqrt(2)
};

// matrix[i][k], rows of `stride` floats: the orthonormal DCT-II sqrt(2/B) cos(pi/B (i + 1/2) k) (sqrt(1/B)
// for k = 0) times the lifter. Columns after the coefficients are 0.
constexpr void fill_dct(const DctSpec& spec, std::size_t stride, float* matrix) noexcept {
  using exact::constant::turn;
  const auto coefficients = static_cast<std::size_t>(spec.coefficients);
  const double first = exact::constant::sqrt(1.0 / spec.filters),
               others = exact::constant::sqrt(2.0 / spec.filters);
  for (std::int32_t i = 0; i < spec.filters; ++i) {
    float* row = matrix + static_cast<std::size_t>(i) * stride;
    for (std::size_t k = 0; k < stride; ++k) row[k] = 0;
    for (std::int32_t k = 0; k < spec.coefficients; ++k) {
      // cos(pi/B (i + 1/2) k) = cos(2 pi (2i + 1) k / (4B))
      double value =
          (k == 0 ? first : others) *
          turn((2 * static_cast<std::int64_t>(i) + 1) * k, 4 * static_cast<std::int64_t>(spec.filters)).cos;
      if (spec.lifter > 0) value *= 1 + 0.5 * spec.lifter * turn(k / (2 * spec.lifter)).sin;
      if (k == 0 && spec.scale_first) value *= exact::constant::sqrt(2.0);
      const std::size_t column = !spec.first_last ? static_cast<std::size_t>(k)
                                 : k == 0         ? coefficients - 1
                                                  : static_cast<std::size_t>(k) - 1;
      row[column] = static_cast<float>(value);
    }
  }
}

}  // namespace runnel::features
