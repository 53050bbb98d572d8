// Scaling and rounding of the Ethos-U85.
#pragma once

#include "npu/arithmetic.h"

namespace runnel::npu::u85 {

// `Number`: Wide, or std::int64_t where everything fits.
template <class Number>
constexpr Number scale_and_round_as(Number value, const Scale& scale) noexcept {
  const Number product = value * Number{scale.multiplier};
  const Number half = scale.shift == 0 ? Number{0} : Number{1} << (scale.shift - 1);
  const Number first = scale.double_round <= 30 && scale.shift > 31 - scale.double_round
                           ? Number{1} << (30 - scale.double_round)
                           : Number{0};
  Number nudge = 0;
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
      nudge = product < 0 ? (Number{1} << scale.shift) - 1 : Number{0};
      break;
    case Rounding::to_lower:
      break;
  }
  return (product + nudge) >> scale.shift;
}

// value * multiplier / 2^shift, shift 0 to 63, |value| < 2^94. double_symmetric equals TensorFlow Lite's two
// steps: to the upper word, then with ties away from zero.
constexpr Wide scale_and_round(Wide value, const Scale& scale) noexcept {
  if (is_narrow(value, scale.multiplier, scale.shift))
    return scale_and_round_as(static_cast<std::int64_t>(value), scale);
  return scale_and_round_as(value, scale);
}

}  // namespace runnel::npu::u85
