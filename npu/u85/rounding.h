// Scaling and rounding of the Ethos-U85.
#pragma once

#include "npu/arithmetic.h"

namespace runnel::npu::u85 {

// value * multiplier / 2^shift, shift 0 to 63, |value| < 2^94. double_symmetric equals TensorFlow Lite's two
// steps: to the upper word, then with ties away from zero.
constexpr Wide scale_and_round(Wide value, const Scale& scale) noexcept {
  const Wide product = value * Wide{scale.multiplier};
  const Wide half = scale.shift == 0 ? Wide{0} : Wide{1} << (scale.shift - 1);
  const Wide first = scale.double_round <= 30 && scale.shift > 31 - scale.double_round
                         ? Wide{1} << (30 - scale.double_round)
                         : Wide{0};
  Wide nudge = 0;
  switch (scale.rounding) {
    case Rounding::double_symmetric:
      nudge = half + (product < 0 ? -first : first);
      break;
    case Rounding::natural:
      nudge = half;
      break;
    case Rounding::double_asymmetric:
      nudge = half + first;
      break;
    case Rounding::symmetric:
      nudge = product < 0 && scale.shift > 0 ? half - 1 : half;
      break;
    case Rounding::to_zero:
      nudge = product < 0 ? (Wide{1} << scale.shift) - 1 : Wide{0};
      break;
    case Rounding::to_lower:
      break;
  }
  return (product + nudge) >> scale.shift;
}

}  // namespace runnel::npu::u85
