#include "kernels/conv/device/conv_device.h"

#include <utility>

namespace runnel::kernels {

bool device_conv_fits(const ConvSpec& spec, std::int64_t largest) noexcept {
  if (spec.dtype == DType::int16) return spec.in_zero_point == 0;
  if (largest >= std::int64_t{1} << 30) return false;
  const Requant& how = spec.requant;
  if (how.multiplier == nullptr) return true;
  for (std::int32_t i = 0; i < how.count; ++i) {
    // Where a left shift before it saturates, the product with such a multiplier is beyond
    // every clamp anyway.
    const bool normalized = how.multiplier[i] == 0 || how.multiplier[i] >= 1 << 30;
    if (!normalized || how.shift[i] > 31) return false;
  }
  return true;
}

void lay_down(ConvSpec& spec) noexcept {
  if (spec.in_width != 1 || spec.kernel_width != 1 || spec.out_width != 1 || spec.pad_left != 0) return;
  std::swap(spec.in_height, spec.in_width);
  std::swap(spec.out_height, spec.out_width);
  std::swap(spec.kernel_height, spec.kernel_width);
  std::swap(spec.stride_height, spec.stride_width);
  std::swap(spec.dilation_height, spec.dilation_width);
  std::swap(spec.pad_top, spec.pad_left);
}

}  // namespace runnel::kernels
