// Quotients of int8 with any scale and zero point, as TensorFlow Lite (Micro)'s DivElementwise.
#pragma once

#include "kernels/elementwise/affine.h"

namespace runnel::kernels {

// Element i of y is a[i % a_count] / b[i % b_count], limited to [low, high].
struct QuotientSpec {
  std::size_t count = 0, a_count = 0, b_count = 0;
  std::int32_t a_zero = 0, b_zero = 0, y_zero = 0;
  Multiplier scale;  // of the integer quotient
  std::int32_t low = -128, high = 127;
};
// Sets zero points and scale; the caller sets the rest.
void set_scales(QuotientSpec& spec, const Affine& a, const Affine& b, const Affine& y) noexcept;
// The specification. The reference leaves a division by 0 open: here a / 0 is the limit on the side of a, and
// 0 / 0 is 0. y may be a or b where that one is not repeated.
void affine_quotients(const QuotientSpec& spec, const std::int8_t* a, const std::int8_t* b,
                      std::int8_t* y) noexcept;

}  // namespace runnel::kernels
