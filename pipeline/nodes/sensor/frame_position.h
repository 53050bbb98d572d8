// Where the frames of one stream lie among those of another, in exact fractions.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "pipeline/format.h"

namespace runnel::pipeline {

// Goes along a stream frame by frame and says where each begins in another stream: after that stream's frame
// floor(), by fraction() of the distance to the next one. Nothing is rounded, so that positions after any
// number of frames are as exact as the first.
class FramePosition {
 public:
  // Frame 0 of `stream` first. `offset_ns`: how much later the other stream's sample 0 was taken. Error:
  // unsupported, when 64 bits do not hold the common clock.
  static Result<FramePosition> make(const Clock& stream, const Clock& other, std::int64_t offset_ns) noexcept;

  void advance() noexcept;
  [[nodiscard]] std::int64_t floor() const noexcept { return floor_; }
  [[nodiscard]] double fraction() const noexcept {
    return static_cast<double>(rest_) / static_cast<double>(denominator_);
  }
  [[nodiscard]] bool whole() const noexcept { return rest_ == 0; }
  // Every frame begins with a frame of the other stream, one by one.
  [[nodiscard]] bool one_to_one() const noexcept { return rest_ == 0 && step_ == 1 && step_rest_ == 0; }

 private:
  std::int64_t floor_ = 0, rest_ = 0;
  std::int64_t step_ = 1, step_rest_ = 0;
  std::int64_t denominator_ = 1;
};

}  // namespace runnel::pipeline
