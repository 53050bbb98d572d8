// The matrix that makes cepstral coefficients of log-mel energies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace runnel::features {

struct DctSpec {
  std::int32_t filters, coefficients;
  double lifter;      // Q of 1 + Q/2 sin(pi k / Q); 0: none
  bool first_last;    // coefficient 0 in the last column
  bool scale_first;   // coefficient 0 times sqrt(2)
};

// matrix[i][k], rows of `stride` floats: the orthonormal DCT-II sqrt(2/B) cos(pi/B (i + 1/2) k) (sqrt(1/B) for k = 0) times the lifter.
// Columns behind the coefficients are 0.
void fill_dct(const DctSpec& spec, std::size_t stride, float* matrix) noexcept;

}  // namespace runnel::features
