// What operators that move data do where input and output have different exponents: requantize (round,
// saturate).
#pragma once

#include <cstddef>

#include "inference/ops/support.h"
#include "kernels/elementwise/elementwise.h"

namespace runnel::ops {

// A change of exponent between two tensors of one integer type; nothing for other types.
struct Rescale {
  const kernels::Elementwise* kernels = nullptr;
  DType dtype = DType::none;
  int shift = 0;
  kernels::Rounding rounding = kernels::Rounding::half_up;

  [[nodiscard]] bool needed() const noexcept { return shift != 0; }
  void operator()(std::size_t count, const void* x, void* y) const noexcept {
    kernels->requantize(dtype, dtype, count, x, y, shift, rounding, dtype == DType::int8 ? -128 : -32768,
                        dtype == DType::int8 ? 127 : 32767);
  }
};

inline Rescale rescale(PrepareContext& context, const TensorView& x, const TensorView& y) noexcept {
  Rescale out;
  out.kernels = &kernels::elementwise(context.isa());
  out.dtype = x.dtype;
  out.rounding = rounding_of(context.op());
  if (is_integer(x.dtype)) out.shift = y.exponent() - x.exponent();
  return out;
}

// One type on both sides; integers with one scale each: powers of two, or the same scale and zero point on
// both sides.
inline Status check_moved(const TensorView& x, const TensorView& y) noexcept {
  if (x.dtype != y.dtype)
    return Status(Code::unsupported) << "input " << name_of(x.dtype) << ", output " << name_of(y.dtype)
                                     << ", expected one type";
  if (x.exponents.size() > 1 || y.exponents.size() > 1 || x.zero_point() != y.zero_point() ||
      x.scales.size() > 1 || x.scales.size() != y.scales.size() ||
      (!x.scales.empty() && x.scales[0] != y.scales[0])) {
    return Status(Code::unsupported)
           << "moves between tensors whose scales are neither single powers of two nor the same";
  }
  return {};
}

}  // namespace runnel::ops
