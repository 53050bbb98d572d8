// A change of scale between two integers: by a multiplier of 31 bits, or by a shift.
#pragma once

#include "kernels/elementwise/affine.h"

namespace runnel::kernels {

// tflite_double: multiplied by `multiplier`, rounded twice; half_up and half_even: shifted
// right, rounded once.
struct Scaling {
  Multiplier multiplier;
  int shift = 0;
  Rounding rounding = Rounding::tflite_double;

  [[nodiscard]] std::int64_t operator()(std::int64_t x) const noexcept {
    return rounding == Rounding::tflite_double ? multiplier(x) : round_shift(x, shift, rounding);
  }
};

}  // namespace runnel::kernels
