#include "features/samples/sample_filter.h"

#include <algorithm>
#include <cmath>

#include "features/exact_math.h"
#include "features/samples/dither.h"

namespace runnel::features {

float factor_of(float decibels) noexcept {
  return static_cast<float>(exp(static_cast<double>(decibels) * 0.115129254649702284200899573));
}

Status Preemphasis::init(float c, std::size_t channels, Memory& memory) noexcept {
  if (!(c >= 0 && c <= 1))
    return Status(Code::invalid_argument, "coefficient of preemphasis: expected 0 to 1");
  if (channels < 1) return Status(Code::invalid_argument, "preemphasis: expected at least 1 channel");
  float* before = memory.array<float>(channels);
  if (before == nullptr)
    return Status(Code::out_of_memory) << "preemphasis: needs " << channels * sizeof(float) << " bytes";
  before_ = {before, channels};
  c_ = c;
  return Status();
}

void Preemphasis::apply(std::span<float> samples) noexcept {
  const std::size_t channels = before_.size();
  for (std::size_t i = 0; i + channels <= samples.size(); i += channels) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float now = samples[i + c];
      samples[i + c] = now - c_ * before_[c];
      before_[c] = now;
    }
  }
}

void Preemphasis::reset() noexcept { std::fill(before_.begin(), before_.end(), 0.0F); }

Status HighPass::init(const Spec& spec, std::size_t channels, Memory& memory) noexcept {
  if (!(spec.cutoff_hz > 0 && spec.cutoff_hz < spec.rate_hz / 2)) {
    return Status(Code::invalid_argument)
           << "cutoff of highpass: expected above 0 and below half the sample rate, "
           << static_cast<std::int64_t>(spec.rate_hz / 2) << " Hz";
  }
  if (spec.order != 1 && spec.order != 2)
    return Status(Code::invalid_argument) << "order " << spec.order << " of highpass: expected 1 or 2";
  if (channels < 1) return Status(Code::invalid_argument, "highpass: expected at least 1 channel");
  double* state = memory.array<double>(2 * channels);
  if (state == nullptr)
    return Status(Code::out_of_memory) << "highpass: needs " << 2 * channels * sizeof(double) << " bytes";
  state_ = {state, 2 * channels};
  channels_ = channels;
  // With w = 2 pi f / rate. Order 1: K = tan(w/2) = sin w / (1 + cos w); order 2: Q = 1/sqrt 2.
  const SinCos w = turn(spec.cutoff_hz / spec.rate_hz);
  if (spec.order == 1) {
    const double k = w.sin / (1 + w.cos);
    b0_ = 1 / (1 + k);
    b1_ = -b0_;
    b2_ = a2_ = 0;
    a1_ = (k - 1) / (1 + k);
  } else {
    const double alpha = w.sin * 0.70710678118654752440, norm = 1 / (1 + alpha);
    b0_ = (1 + w.cos) / 2 * norm;
    b1_ = -2 * b0_;
    b2_ = b0_;
    a1_ = -2 * w.cos * norm;
    a2_ = (1 - alpha) * norm;
  }
  return Status();
}

void HighPass::apply(std::span<float> samples) noexcept {
  constexpr double kNothing = 1e-30;  // a state that would become denormal
  for (std::size_t i = 0; i + channels_ <= samples.size(); i += channels_) {
    for (std::size_t c = 0; c < channels_; ++c) {
      double &first = state_[2 * c], &second = state_[2 * c + 1];
      const double x = static_cast<double>(samples[i + c]), y = b0_ * x + first;
      first = (b1_ * x - a1_ * y) + second;
      second = b2_ * x - a2_ * y;
      if (first < kNothing && first > -kNothing) first = 0;
      if (second < kNothing && second > -kNothing) second = 0;
      samples[i + c] = static_cast<float>(y);
    }
  }
}

void HighPass::reset() noexcept { std::fill(state_.begin(), state_.end(), 0.0); }

// Noise comes in blocks on the stream's own grid; a piece that cuts through one computes it twice.
void add_stream_noise(std::span<float> samples, std::int64_t first, std::size_t channels, float deviation,
                      std::int32_t seed) noexcept {
  constexpr std::int64_t kBlock = 64;
  float zeros[kBlock] = {}, noise[kBlock];
  const auto count = static_cast<std::int64_t>(samples.size());
  const std::int64_t begin = first * static_cast<std::int64_t>(channels);
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t at = begin + i, block = at / kBlock, from = at % kBlock;
    const std::int64_t some = std::min(kBlock - from, count - i);
    add_noise(zeros, static_cast<std::size_t>(kBlock), deviation, seed, block, noise);
    for (std::int64_t j = 0; j < some; ++j) samples[static_cast<std::size_t>(i + j)] += noise[from + j];
    i += some;
  }
}

}  // namespace runnel::features
