// Window: the input elements of a position of a convolution or pooling.
#pragma once

#include <cstddef>
#include <cstdint>

#include "npu/operation.h"

namespace runnel::npu {

// Along one axis: input positions 0 to `size` after upscaling, of which memory holds one or one of two.
struct WindowAxis {
  std::int32_t taps, stride, dilation, pad, size;
  Upscale upscale;

  // The position in memory that tap `tap` of output `out` reads; -1 in the padding, -2 at a zero
  // that upscaling inserts.
  [[nodiscard]] std::int32_t source(std::int32_t out, std::int32_t tap) const noexcept {
    const std::int32_t at = out * stride + tap * dilation - pad;
    if (at < 0 || at >= size) return -1;
    if (upscale == Upscale::none) return at;
    return upscale == Upscale::zeros && at % 2 != 0 ? -2 : at / 2;
  }
};

inline WindowAxis rows_of(const Operation& op) noexcept {
  const Kernel& k = op.kernel;
  return {k.taps_y(),
          k.stride_y,
          k.dilation_y,
          k.top,
          (op.ofm.height - 1) * k.stride_y + k.height - k.top - k.bottom,
          op.upscale};
}
inline WindowAxis columns_of(const Operation& op) noexcept {
  const Kernel& k = op.kernel;
  return {k.taps_x(),
          k.stride_x,
          k.dilation_x,
          k.left,
          (op.ofm.width - 1) * k.stride_x + k.width - k.left - k.right,
          op.upscale};
}

}  // namespace runnel::npu
