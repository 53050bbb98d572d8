// Which frames of a block or window are data.
#pragma once

#include <algorithm>
#include <cstdint>

namespace runnel::streaming {

// Positions [from, to) in a part of a stream.
struct Range {
  std::int64_t from = 0, to = 0;

  [[nodiscard]] constexpr std::int64_t count() const noexcept { return to - from; }
};

// The data frames among `frames` frames that start at the logical index `first`, for a tensor of `length`
// frames: those with 0 <= index < length. Never outside [0, frames).
constexpr Range data_range(std::int64_t first, std::int64_t length, std::int64_t frames) noexcept {
  const std::int64_t from = std::clamp<std::int64_t>(-first, 0, frames);
  return {from, std::clamp<std::int64_t>(length - first, from, frames)};
}

}  // namespace runnel::streaming
