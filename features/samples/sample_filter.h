// What is done to samples before they are framed: gain, pre-emphasis of the whole stream, a high-pass filter
// and seeded noise. Samples of several channels alternate; the channels do not influence each other.
// Everything depends on the samples so far and their number only, never on the sizes of the pieces. Samples
// must be finite: a filter would keep any other for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory.h"
#include "base/status.h"

namespace runnel::features {

// Gain in dB as a factor.
float factor_of(float decibels) noexcept;

// y[i] = x[i] - c x[i-1], with 0 before the stream.
class Preemphasis {
 public:
  // Errors: out_of_memory; invalid_argument when c is not 0 to 1 or there is no channel.
  Status init(float c, std::size_t channels, Memory& memory) noexcept;
  // A whole number of samples of every channel, in place.
  void apply(std::span<float> samples) noexcept;
  void reset() noexcept;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.values(before_);
  }

 private:
  float c_ = 0;
  std::span<float> before_;
};

// Butterworth high-pass filter of order 1 or 2 (bilinear transform), in double precision: removes an offset
// (DC) and what rumbles below `cutoff_hz`. Order 1 falls by 6 dB per octave, order 2 by 12 dB.
class HighPass {
 public:
  struct Spec {
    double cutoff_hz = 20, rate_hz = 16000;
    std::int32_t order = 2;
  };
  // Errors: invalid_argument with the parameter, its value and range; out_of_memory.
  Status init(const Spec& spec, std::size_t channels, Memory& memory) noexcept;
  void apply(std::span<float> samples) noexcept;
  void reset() noexcept;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.values(state_);
  }

 private:
  double b0_ = 1, b1_ = 0, b2_ = 0, a1_ = 0, a2_ = 0;
  std::size_t channels_ = 1;
  std::span<double> state_;  // two per channel
};

// Adds Gaussian noise of standard deviation `deviation` (samples in [-1, 1)) to samples first .. of a stream
// of `channels`: sample i of the stream always gets the same noise for the same seed.
void add_stream_noise(std::span<float> samples, std::int64_t first, std::size_t channels, float deviation,
                      std::int32_t seed) noexcept;

}  // namespace runnel::features
