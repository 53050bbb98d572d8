// What operators share whose tensors have any scale and zero point (arithmetic:
// kernels/elementwise/affine.h).
#pragma once

#include <algorithm>
#include <string_view>

#include "inference/ops/support.h"
#include "kernels/elementwise/affine.h"

namespace runnel::ops {

// Activations beyond ReLU need scales.
inline Status check_plain_activation(Activation activation) noexcept {
  if (activation <= Activation::relu) return {};
  return Status(Code::unsupported) << "activation " << static_cast<int>(activation)
                                   << " of tensors without scales";
}

// Integers with one scale, a zero point inside the type (int32: 0).
inline Status check_affine(const TensorView& tensor, std::string_view what) noexcept {
  if (!is_integer(tensor.dtype) && tensor.dtype != DType::uint8 && tensor.dtype != DType::int32) {
    return Status(Code::unsupported) << what << " is " << name_of(tensor.dtype)
                                     << ", expected int8, uint8, int16 or int32";
  }
  if (tensor.scales.size() != 1)
    return Status(Code::unsupported) << what << " has " << tensor.scales.size() << " scales, expected 1";
  const std::int32_t zero = tensor.zero_point();
  const bool inside = tensor.dtype == DType::int32
                          ? zero == 0
                          : zero >= kernels::lowest(tensor.dtype) && zero <= kernels::highest(tensor.dtype);
  if (!inside)
    return Status(Code::invalid_data)
           << what << " has zero point " << zero << ", which is no " << name_of(tensor.dtype);
  return {};
}
inline Status check_affine(const TensorView& tensor, bool wide, std::string_view what) noexcept {
  RUNNEL_TRY(check_affine(tensor, what));
  if (wide || is_integer(tensor.dtype)) return {};
  return Status(Code::unsupported) << what << " is " << name_of(tensor.dtype) << ", expected int8 or int16";
}

inline kernels::Affine affine_of(const TensorView& tensor) noexcept {
  return {tensor.dtype, tensor.scales[0], tensor.zero_point()};
}

// Range of a type, cut by an activation.
inline void affine_range(const TensorView& y, Activation activation, std::int32_t& low,
                         std::int32_t& high) noexcept {
  low = kernels::lowest(y.dtype);
  high = kernels::highest(y.dtype);
  const auto at_least = [&](float value) {
    low = static_cast<std::int32_t>(
        std::max<std::int64_t>(low, kernels::to_integer(value, y.scales[0], y.zero_point())));
  };
  const auto at_most = [&](float value) {
    high = static_cast<std::int32_t>(
        std::min<std::int64_t>(high, kernels::to_integer(value, y.scales[0], y.zero_point())));
  };
  if (activation == Activation::relu || activation == Activation::relu6) at_least(0);
  if (activation == Activation::relu6) at_most(6);
  if (activation == Activation::relu_n1_to_1) {
    at_least(-1);
    at_most(1);
  }
  high = std::max(low, high);
}

}  // namespace runnel::ops
