// Which taps of a window are inside the input.
#pragma once

#include <cstdint>

namespace runnel::kernels {

// The taps [first, last) that read inside [0, size) when tap t reads start + t * dilation.
struct TapRange {
  std::int32_t first, last;
};
inline TapRange taps_inside(std::int64_t start, std::int32_t dilation, std::int32_t taps,
                            std::int32_t size) noexcept {
  // The usual case, without a division.
  if (start >= 0 && start + std::int64_t{taps - 1} * dilation < size) return {0, taps};
  std::int64_t first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  std::int64_t last = size - 1 < start ? 0 : (size - 1 - start) / dilation + 1;
  if (last > taps) last = taps;
  if (first > last) first = last;
  return {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)};
}

}  // namespace runnel::kernels
