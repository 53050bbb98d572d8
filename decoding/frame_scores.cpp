#include "decoding/frame_scores.h"

#include <bit>
#include <limits>

#include "base/exact_single.h"

namespace runnel::decoding {
namespace {

constexpr float kFar = 64;  // -kLeastLog in nats

// Rounded to the nearest unit.
LogProbability fixed(float log) noexcept {
  if (!(log > -kFar)) return kLeastLog;
  const float scaled = log * static_cast<float>(kLogOne);
  return log >= 0 ? 0 : static_cast<LogProbability>(scaled - 0.5f);
}

}  // namespace

bool FrameScores::read(std::span<const float> values, Kind kind) noexcept {
  values_ = values;
  kind_ = kind;
  best_ = 0;
  highest_ = values[0];
  for (std::size_t c = 0; c < values.size(); ++c) {
    const float value = values[c];
    // As integers: comparisons of floats are false for what is not a number, without telling.
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    constexpr std::uint32_t kInfinity = 0x7f800000u;
    if ((bits & 0x7fffffffu) > kInfinity || bits == kInfinity) return false;
    if (value > highest_) {
      highest_ = value;
      best_ = static_cast<std::int32_t>(c);
    }
  }
  sum_ = 0;
  if (kind == Kind::posteriors) {
    for (const float value : values) sum_ += value > 0 ? value : 0;
    if (!(sum_ >= std::numeric_limits<float>::min()) || sum_ > std::numeric_limits<float>::max())
      return false;
  } else {
    if (highest_ < -std::numeric_limits<float>::max()) return false;
    for (const float value : values) {
      const float below = highest_ - value;
      sum_ += below < kFar ? exact::exp_single(-below) : 0;
    }
  }
  log_of_sum_ = exact::log_single(sum_);
  return true;
}

float FrameScores::posterior(std::int32_t token) const noexcept {
  const float value = values_[static_cast<std::size_t>(token)];
  if (kind_ == Kind::posteriors) return value > 0 ? value / sum_ : 0;
  const float below = highest_ - value;
  return below < kFar ? exact::exp_single(-below) / sum_ : 0;
}

LogProbability FrameScores::log(std::int32_t token) const noexcept {
  const float value = values_[static_cast<std::size_t>(token)];
  if (kind_ == Kind::logits) return fixed((value - highest_) - log_of_sum_);
  if (!(value >= std::numeric_limits<float>::min())) return kLeastLog;
  return fixed(exact::log_single(value) - log_of_sum_);
}

}  // namespace runnel::decoding
