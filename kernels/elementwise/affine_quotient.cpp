#include "kernels/elementwise/affine_quotient.h"

#include <limits>

#include "kernels/arithmetic/fixed_point.h"

namespace runnel::kernels {
namespace {

// scale * a / b: |b| becomes a reciprocal of 31 bits, a is shifted to the left as far as 32 bits allow.
std::int64_t quotient_of(const Multiplier& scale, std::int32_t a, std::int32_t b) noexcept {
  if (a == 0) return 0;
  if (b == 0)
    return a > 0 ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int32_t>::min();
  int bits_over_unit = 0;
  const std::int32_t reciprocal = fixed::reciprocal(b < 0 ? -b : b, 31, bits_over_unit);
  const std::int32_t dividend = b < 0 ? -a : a;
  const int headroom = __builtin_clrsb(dividend);
  const std::int32_t quotient = fixed::multiply(fixed::multiply_by_power(dividend, headroom), reciprocal);
  constexpr int kNothingLeft = 33;  // bits of 32
  const int shift = scale.shift + bits_over_unit + headroom;
  return multiply_shift(quotient, scale.value, shift < kNothingLeft ? shift : kNothingLeft,
                        Rounding::tflite_double);
}

}  // namespace

void set_scales(QuotientSpec& spec, const Affine& a, const Affine& b, const Affine& y) noexcept {
  spec.a_zero = a.zero_point;
  spec.b_zero = b.zero_point;
  spec.y_zero = y.zero_point;
  spec.scale =
      multiplier_of(static_cast<double>(a.scale / (b.scale * y.scale)));  // in float32, as the reference
}

void affine_quotients(const QuotientSpec& spec, const std::int8_t* a, const std::int8_t* b,
                      std::int8_t* y) noexcept {
  std::size_t ia = 0, ib = 0;
  for (std::size_t i = 0; i < spec.count; ++i) {
    const std::int64_t value =
        quotient_of(spec.scale, a[ia] - spec.a_zero, b[ib] - spec.b_zero) + spec.y_zero;
    y[i] = static_cast<std::int8_t>(value < spec.low ? spec.low : value > spec.high ? spec.high : value);
    if (++ia == spec.a_count) ia = 0;
    if (++ib == spec.b_count) ib = 0;
  }
}

}  // namespace runnel::kernels
