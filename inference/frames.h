// Copying frames between blocks along their time axis, at any position of that axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "inference/model/model.h"

namespace runnel {

// A tensor as frames: `outer` rows (the dimensions before time) of frames of `inner_bytes` each. outer =
// 1: frame-major.
struct FrameLayout {
  std::size_t outer = 1;
  std::size_t inner_bytes = 0;

  static FrameLayout of(const Shape& shape, int time_axis, DType dtype) noexcept {
    if (time_axis < 0) return {1, static_cast<std::size_t>(shape.elements()) * size_of(dtype)};
    return {static_cast<std::size_t>(shape.product(0, time_axis)),
            static_cast<std::size_t>(shape.product(time_axis + 1, shape.rank)) * size_of(dtype)};
  }
};

// Copies `count` frames from position `from_first` of a tensor of `from_frames` frames to position `to_first`
// of one of `to_frames` frames.
inline void copy_frames(const FrameLayout& layout, const std::byte* from, std::int64_t from_frames,
                        std::int64_t from_first, std::byte* to, std::int64_t to_frames, std::int64_t to_first,
                        std::int64_t count) noexcept {
  const std::size_t bytes = static_cast<std::size_t>(count) * layout.inner_bytes;
  for (std::size_t row = 0; row < layout.outer; ++row) {
    std::memcpy(to + (row * static_cast<std::size_t>(to_frames) + static_cast<std::size_t>(to_first)) *
                         layout.inner_bytes,
                from + (row * static_cast<std::size_t>(from_frames) + static_cast<std::size_t>(from_first)) *
                           layout.inner_bytes,
                bytes);
  }
}

}  // namespace runnel
