// Conversion between two fixed sample rates by a rational polyphase filter, streaming and exact for any
// partition.
//
// Output m lies at the input time m * in / out: the filter is symmetric and its delay is removed, so that a
// resampled recording is aligned with its original. Outside of the recording the signal is zero. n input
// samples give ceil(n * out / in) outputs. The filter is a sinc in a Kaiser window (J. F. Kaiser,
// Nonrecursive digital filter design using the I0-sinh window function, 1974); each phase is scaled to pass a
// constant unchanged. Equal rates copy the samples.
//
// Phase p read backwards is phase (number of phases) - p, to the bit: only half of them are kept. Streams of one specification can
// share the taps, which then are made once, or lie in flash memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
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

// One stream. Not thread-safe; movable; the Memory must outlive it.
class Resampler {
 public:
  // Errors: invalid_argument with the parameter, its value and range; unsupported when the rates have so
  // little in common that the filter would need more than kMostCoefficients; out_of_memory with the bytes
  // needed.
  static Result<Resampler> make(const ResamplerSpec& spec, Isa isa, Memory& memory) noexcept;
  // The same with taps that make_taps() has made, 64-byte aligned for speed; they must outlive the stream. Error besides: mismatch
  // when there are not tap_count(spec) of them.
  static Result<Resampler> make(const ResamplerSpec& spec, std::span<const float> taps, Isa isa, Memory& memory) noexcept;
  // Bytes that make() takes of a 64-byte aligned Memory, with taps of its own and without.
  static Result<std::size_t> memory_bytes(const ResamplerSpec& spec) noexcept;
  static Result<std::size_t> state_bytes(const ResamplerSpec& spec) noexcept;

  // The filter. Error: invalid_argument unless `taps` has room for exactly tap_count(spec).
  static Result<std::size_t> tap_count(const ResamplerSpec& spec) noexcept;
  static Status make_taps(const ResamplerSpec& spec, std::span<float> taps) noexcept;
  static constexpr std::size_t kMostCoefficients = std::size_t{1} << 23;

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
  struct Shape;
  static Result<Shape> shape_of(const ResamplerSpec& spec) noexcept;
  static void fill_taps(const ResamplerSpec& spec, const Shape& shape, float* taps) noexcept;
  std::size_t take(std::span<float> out, std::size_t already, std::int64_t certain) noexcept;
  void make_room() noexcept;

  const Kernels* kernels_ = nullptr;
  std::int64_t up_ = 1, down_ = 1;  // out / in in lowest terms
  std::int64_t half_ = 0;        // output at time t reads the samples floor(t) - half + 1 .. floor(t) + half
  std::size_t row_ = 0;          // taps of a phase, padded in front with zeros to a multiple of 16
  const float* taps_ = nullptr;  // [up/2 + 1][row], then the zeros in front of another row
  float* samples_ = nullptr;     // the stream from base_ to received_ (and, once flushed, zeros behind it)
  std::size_t capacity_ = 0;
  std::int64_t base_ = 0, received_ = 0, next_ = 0, filled_ = 0;
  bool flushed_ = false;
};

}  // namespace runnel::features
