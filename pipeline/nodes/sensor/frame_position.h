// The positions of the frames of one stream in another, as exact fractions.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "pipeline/format.h"

namespace runnel::pipeline {

// Steps through a stream frame by frame and gives the position of each frame's start in another stream: frame
// floor() of that stream plus fraction() of its hop. Nothing is rounded: positions stay exact after any
// number of frames.
class FramePosition {
 public:
  // Starts at frame 0 of `stream`. `offset_ns`: how much later the other stream's sample 0 was taken. Error:
  // unsupported, when the common clock needs more than 64 bits.
  static Result<FramePosition> make(const Clock& stream, const Clock& other, std::int64_t offset_ns) noexcept;

  void advance() noexcept;
  [[nodiscard]] std::int64_t floor() const noexcept { return floor_; }
  [[nodiscard]] double fraction() const noexcept {
    return static_cast<double>(rest_) / static_cast<double>(denominator_);
  }
  [[nodiscard]] bool whole() const noexcept { return rest_ == 0; }
  // Whether frame i begins with frame i + constant of the other stream.
  [[nodiscard]] bool one_to_one() const noexcept { return rest_ == 0 && step_ == 1 && step_rest_ == 0; }

 private:
  std::int64_t floor_ = 0, rest_ = 0;
  std::int64_t step_ = 1, step_rest_ = 0;
  std::int64_t denominator_ = 1;
};

}  // namespace runnel::pipeline
