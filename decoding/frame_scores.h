// The posteriors of one frame: what searches read.
#pragma once

#include <cstdint>
#include <span>

#include "decoding/log_add.h"

namespace runnel::decoding {

// Softmax of the frame's values, as far as it is asked for. Logits and log-probabilities give the same, as
// the softmax of log-probabilities leaves them as they are.
class FrameScores {
 public:
  enum class Kind : std::uint8_t { logits, posteriors };

  // Reads a frame; the values are not copied and must outlive the use of the scores. Minus infinity is a
  // token that cannot be. False when a value is not a number or plus infinity, or when no token can be; then
  // nothing else may be called.
  bool read(std::span<const float> values, Kind kind) noexcept;

  [[nodiscard]] std::int32_t classes() const noexcept { return static_cast<std::int32_t>(values_.size()); }
  // The first of the most likely tokens.
  [[nodiscard]] std::int32_t best() const noexcept { return best_; }
  [[nodiscard]] float posterior(std::int32_t token) const noexcept;     // 0 .. 1
  [[nodiscard]] LogProbability log(std::int32_t token) const noexcept;  // kLeastLog .. 0

 private:
  std::span<const float> values_;
  Kind kind_ = Kind::logits;
  std::int32_t best_ = 0;
  float highest_ = 0, sum_ = 1, log_of_sum_ = 0;
};

}  // namespace runnel::decoding
