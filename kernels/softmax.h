// Softmax and its logarithm along one axis.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/requantize.h"

namespace runnel::kernels {

// x and y are [outer, count, inner]; the sum runs over `count`. The largest value is always subtracted first, differences of
// integers are exact, exponentials and sums are double precision in a fixed order: the same bits on every machine.
struct SoftmaxSpec {
  bool logarithm = false;
  DType from = DType::float32, to = DType::float32;   // each int8, int16 (value = integer * 2^exponent) or float32
  int x_exponent = 0, y_exponent = 0;
  Rounding rounding = Rounding::half_up;
  std::size_t outer = 1, count = 1, inner = 1;
};

// scratch: `count` doubles.
void softmax(const SoftmaxSpec& spec, const void* x, void* y, double* scratch) noexcept;

}  // namespace runnel::kernels
