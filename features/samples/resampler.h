// Conversion between two fixed sample rates by a rational polyphase filter, streaming and exact for any
// partition.
//
// Output m lies at the input time m * in / out: the filter is symmetric and its delay is removed, so that a
// resampled recording is aligned with its original. Outside of the recording the signal is zero. n input
// samples give ceil(n * out / in) outputs. The filter is a sinc in a Kaiser window (J. F. Kaiser,
// Nonrecursive digital filter design using the I0-sinh window function, 1974); each phase is scaled to pass a
// constant unchanged. Equal rates copy the samples.
//
// Phase p read backwards is phase (number of phases) - p, to the bit: only half of them are kept. Streams of
// one specification can share the taps, which then are made once, or lie in flash memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/exact_math.h"
#include "base/memory.h"
#include "base/status.h"
#include "features/simd/kernels.h"

namespace runnel::features {

struct ResamplerSpec {
  std::int32_t in_rate = 16000, out_rate = 16000;  // Hz, 1 to 768000
  // Share of the smaller Nyquist frequency that passes unchanged, 0.5 to 0.99; what lies at or above that
  // frequency is stopped.
  float pass_band = 0.9F;
  // Design value of the stop band in dB, 20 to 120.
  float stop_band_db = 95;
};

// What follows from a valid specification.
struct ResamplerShape {
  std::int64_t up = 1, down = 1;  // out / in in lowest terms
  std::int64_t half = 1;  // an output at time t reads the samples floor(t) - half + 1 .. floor(t) + half
  double width = 0;       // of half the filter, in input samples
  double cutoff = 0;      // in cycles per input sample

  // Of taps of a phase, padded in front with zeros to a multiple of 16, which also stand after the row
  // before it.
  [[nodiscard]] constexpr std::size_t row() const noexcept {
    return align_up(static_cast<std::size_t>(2 * half), 16);
  }
  [[nodiscard]] constexpr std::size_t padding() const noexcept {
    return row() - static_cast<std::size_t>(2 * half);
  }
  [[nodiscard]] constexpr std::size_t taps() const noexcept {
    return static_cast<std::size_t>(up / 2 + 1) * row() + padding();
  }
  [[nodiscard]] constexpr std::size_t capacity() const noexcept { return 2 * row() + 256; }  // samples kept
  // Bytes that Resampler::make() takes of a 64-byte aligned Memory, without taps of its own and with them.
  [[nodiscard]] constexpr std::size_t state_bytes() const noexcept { return capacity() * sizeof(float); }
  [[nodiscard]] constexpr std::size_t memory_bytes() const noexcept {
    return align_up(taps() * sizeof(float), 64) + state_bytes();
  }
};
// For a specification that is known to be valid: Resampler::make() checks it.
constexpr ResamplerShape unchecked_shape_of(const ResamplerSpec& spec) noexcept {
  ResamplerShape shape;
  const std::int32_t common = std::gcd(spec.in_rate, spec.out_rate);
  shape.up = spec.out_rate / common;
  shape.down = spec.in_rate / common;
  if (shape.up == shape.down) return shape;
  const double ratio = static_cast<double>(shape.up) / static_cast<double>(shape.down),
               nyquist = 0.5 * (ratio < 1 ? ratio : 1.0);
  const double pass = spec.pass_band, transition = 2 * exact::kPi * nyquist * (1 - pass);
  shape.width = ((static_cast<double>(spec.stop_band_db) - 7.95) / (2.285 * transition) + 1) / 2;
  shape.cutoff = nyquist * (1 + pass) / 2;
  shape.half = static_cast<std::int64_t>(shape.width) + 1;
  return shape;
}

// One stream. Not thread-safe; movable; the Memory must outlive it.
class Resampler {
 public:
  // Errors: invalid_argument with the parameter, its value and range; unsupported when the rates have so
  // little in common that the filter would need more than kMaxCoefficients; out_of_memory with the bytes
  // needed.
  static Result<Resampler> make(const ResamplerSpec& spec, Isa isa, Memory& memory) noexcept;
  // The same with taps that make_taps() has made, 64-byte aligned for speed; they must outlive the stream.
  // Error besides: mismatch when there are not ResamplerShape::taps() of them.
  static Result<Resampler> make(const ResamplerSpec& spec, std::span<const float> taps, Isa isa,
                                Memory& memory) noexcept;
  // Bytes that make() takes of a 64-byte aligned Memory, with taps of its own.
  static Result<std::size_t> memory_bytes(const ResamplerSpec& spec) noexcept;

  // The filter. Error: invalid_argument unless `taps` has room for exactly ResamplerShape::taps().
  static Status make_taps(const ResamplerSpec& spec, std::span<float> taps) noexcept;
  static constexpr std::size_t kMaxCoefficients = std::size_t{1} << 23;

  Resampler(Resampler&&) noexcept = default;
  Resampler& operator=(Resampler&&) noexcept = default;

  struct Step {
    std::size_t samples;  // taken
    std::size_t outputs;  // written
  };
  // Takes samples and writes the outputs that are certain; stops early only when `out` is full. Room for
  // max_outputs(samples.size()) is always enough.
  Step push(std::span<const float> samples, std::span<float> out) noexcept;
  // The recording has ended: writes what is still missing, as much as fits; 0 when nothing is left. Then only
  // flush() and reset().
  std::size_t flush(std::span<float> out) noexcept;
  void reset() noexcept;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    const auto capacity = static_cast<std::int64_t>(capacity_), row = static_cast<std::int64_t>(row_);
    constexpr std::int64_t kMost = std::int64_t{1} << 62;  // of times in units of both rates
    archive.index(received_, kMost / up_ < Archive::kMostIndex ? kMost / up_ : Archive::kMostIndex);
    archive.index(next_, outputs_of(received_));
    archive.value(flushed_);
    // What the next output reads is still here (make_room()).
    archive.bounded(base_, half_ + 1 - row, next_ * down_ / up_ + half_ + 1 - row);
    archive.bounded(filled_, received_, flushed_ ? received_ + capacity : received_);
    archive.expect(base_ <= filled_ && filled_ - base_ <= capacity, "the number of samples kept");
    if (archive.ok()) archive.values(std::span(samples_, static_cast<std::size_t>(filled_ - base_)));
  }

  [[nodiscard]] std::size_t max_outputs(std::size_t samples) const noexcept;
  [[nodiscard]] std::size_t max_flush_outputs() const noexcept;
  // Outputs of a recording of n samples.
  [[nodiscard]] std::int64_t outputs_of(std::int64_t samples) const noexcept;
  // Input samples after its own time that an output waits for.
  [[nodiscard]] std::int64_t look_ahead() const noexcept { return half_; }
  [[nodiscard]] std::int64_t next_output() const noexcept { return next_; }
  [[nodiscard]] std::int64_t samples_received() const noexcept { return received_; }

 private:
  Resampler() noexcept = default;
  static Result<ResamplerShape> shape_of(const ResamplerSpec& spec) noexcept;
  static void fill_taps(const ResamplerSpec& spec, const ResamplerShape& shape, float* taps) noexcept;
  std::size_t take(std::span<float> out, std::size_t already, std::int64_t certain) noexcept;
  void make_room() noexcept;

  const Kernels* kernels_ = nullptr;
  std::int64_t up_ = 1, down_ = 1;  // out / in in lowest terms
  std::int64_t half_ = 0;        // output at time t reads the samples floor(t) - half + 1 .. floor(t) + half
  std::size_t row_ = 0;          // taps of a phase, padded in front with zeros to a multiple of 16
  const float* taps_ = nullptr;  // [up/2 + 1][row], then the zeros before another row
  float* samples_ = nullptr;     // the stream from base_ to received_ (and, once flushed, zeros after it)
  std::size_t capacity_ = 0;
  std::int64_t base_ = 0, received_ = 0, next_ = 0, filled_ = 0;
  bool flushed_ = false;
};

}  // namespace runnel::features
