// Softmax and its logarithm along one axis.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/dtype.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::kernels {

// x and y are [outer, count, inner]; the sum runs over `count`. The largest value is subtracted first,
// exactly. Exponentials and sums are pairs of floats (float_pairs.h) in a fixed order: the same bits on every
// machine, and the nearest float except for ties closer than 2^-38 of it (for shares below 2^-100 and
// logarithms near 0, at times its neighbour). Integer results are rounded from it.
struct SoftmaxSpec {
  bool logarithm = false;
  DType from = DType::float32,
        to = DType::float32;  // each int8, int16 (value = integer * 2^exponent) or float32
  int x_exponent = 0, y_exponent = 0;
  Rounding rounding = Rounding::half_up;
  std::size_t outer = 1, count = 1, inner = 1;
  Isa isa = Isa::generic;

  // Rows that are summed side by side, where there are vectors for them.
  [[nodiscard]] std::size_t together() const noexcept;
  // Floats of scratch memory.
  [[nodiscard]] std::size_t scratch_floats() const noexcept { return 2 * count * together(); }
};

void softmax(const SoftmaxSpec& spec, const void* x, void* y, float* scratch) noexcept;

}  // namespace runnel::kernels
