// Operands of operators in fixed point: integers whose scale is a power of two or any other, with one zero
// point.
#pragma once

#include "inference/ops/support.h"
#include "kernels/elementwise/affine.h"

namespace runnel::ops {

// int8 or int16 with one scale; int16 without a zero point.
inline Status check_any_scale(const TensorView& tensor, std::string_view what) noexcept {
  if (!is_integer(tensor.dtype))
    return Status(Code::unsupported) << what << " is " << name_of(tensor.dtype) << ", expected int8 or int16";
  if (tensor.exponents.size() + tensor.scales.size() != 1)
    return Status(Code::unsupported) << what << " has " << tensor.exponents.size() + tensor.scales.size()
                                     << " scales, expected 1";
  const std::int32_t zero = tensor.zero_point();
  if (tensor.dtype == DType::int16 ? zero != 0 : zero < -128 || zero > 127)
    return Status(Code::unsupported) << what << " has zero point " << zero << ", expected "
                                     << (tensor.dtype == DType::int16 ? "0" : "-128 to 127");
  return {};
}

// Of a tensor that check_any_scale() or the same for constants let through.
inline double scale_of(const TensorView& tensor) noexcept {
  return static_cast<double>(tensor.scales.empty() ? kernels::power_of_two(tensor.exponent())
                                                   : tensor.scales[0]);
}

// Integers as they are: no scale, no zero point.
inline Status check_plain_int32(const TensorView& tensor, std::string_view what) noexcept {
  if (tensor.constant && tensor.dtype == DType::int32 && tensor.exponents.empty() && tensor.scales.empty() &&
      tensor.zero_points.empty())
    return {};
  return Status(Code::unsupported) << what << " is no constant of int32 without scales";
}

}  // namespace runnel::ops
