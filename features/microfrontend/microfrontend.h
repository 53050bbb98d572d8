// TensorFlow Lite Micro's fixed-point front end (microfrontend), to the bit: for models trained with it, and
// for processors without floating point.
//
// Per frame: window in 12 fractional bits, scaled up by the free bits; 16-bit FFT (fixed_fft.h); energies;
// mel channels with 12-bit weights, square root, scale undone; noise reduction; per-channel amplitude
// normalisation (PCAN); logarithm. Noise reduction keeps an estimate from frame to frame: the features of a
// frame depend on everything since the last reset. Arithmetic is in integers; only tables need floating
// point, in make() or at compile time.
//
// The same samples give the same frames however they are cut into blocks. Only make() allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/checked.h"
#include "base/memory.h"
#include "base/status.h"
#include "features/microfrontend/fixed_fft.h"
#include "features/microfrontend/microfrontend_options.h"
#include "features/microfrontend/microfrontend_tables.h"

namespace runnel::features {

// One stream. Not thread-safe; movable; the Memory must outlive it.
class Microfrontend {
 public:
  // `isa` affects only speed. Errors: those of shape_of(); invalid_argument for channels beyond
  // the spectrum; out_of_memory.
  static Result<Microfrontend> make(const MicrofrontendOptions& options, Isa isa, Memory& memory) noexcept;
  // With existing tables of these options, for example in flash memory (host/microfrontend_source.h writes
  // them), which must outlive this. Computes nothing.
  static Result<Microfrontend> make(const MicrofrontendOptions& options, const MicrofrontendTables& tables,
                                    Isa isa, Memory& memory) noexcept;
  // The same with the compile-time tables of Recipe::kOptions (microfrontend_tables.h).
  template <class Recipe>
  static Result<Microfrontend> make_of(Isa isa, Memory& memory) noexcept {
    constexpr MicrofrontendTables kTables = ConstantMicrofrontendTables<Recipe>::view();
    return make(Recipe::kOptions, kTables, isa, memory);
  }
  // Bytes that make() takes of a 64-byte aligned Memory for frames of `length` samples and an FFT of
  // `fft_size`, and make_of().
  static constexpr std::size_t memory_bytes(std::size_t length, std::size_t fft_size,
                                            std::size_t channels) noexcept {
    return state_bytes(length, fft_size, channels) +
           align_up(microfrontend_table_halves(length, fft_size, channels) * sizeof(std::int16_t),
                    sizeof(std::uint32_t));
  }
  static constexpr std::size_t state_bytes(std::size_t length, std::size_t fft_size,
                                           std::size_t channels) noexcept {
    return words(length, fft_size, channels) * sizeof(std::uint32_t) + FixedFft::work_bytes(fft_size);
  }
  // The same for options that shape_of() accepts.
  static constexpr std::size_t memory_bytes_of(const MicrofrontendOptions& options) noexcept {
    const MicrofrontendShape shape = unchecked_shape_of(options);
    return memory_bytes(static_cast<std::size_t>(shape.grid.length), shape.fft_size,
                        static_cast<std::size_t>(options.num_mel_bins));
  }
  static constexpr std::size_t state_bytes_of(const MicrofrontendOptions& options) noexcept {
    const MicrofrontendShape shape = unchecked_shape_of(options);
    return state_bytes(static_cast<std::size_t>(shape.grid.length), shape.fft_size,
                       static_cast<std::size_t>(options.num_mel_bins));
  }
  static Result<std::size_t> memory_bytes(const MicrofrontendOptions& options) noexcept;

  struct Step {
    std::size_t samples;  // taken
    std::size_t frames;   // written
  };
  // Takes samples and writes complete frames, dims() values each. It stops early only when frames_out is
  // full; room for max_frames(samples.size()) frames always suffices. The end of a recording needs no call:
  // incomplete frames do not exist.
  Step push(std::span<const std::int16_t> samples, std::span<std::uint16_t> frames_out) noexcept;
  // The same for samples in [-1, 1): 16-bit samples / 32768 give exactly the frames of the 16-bit samples;
  // others are rounded to 16 bits, NaN to 0.
  Step push(std::span<const float> samples, std::span<std::uint16_t> frames_out) noexcept;
  // Initial state: the next sample is number 0, and the noise estimate is empty.
  void reset() noexcept;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    const auto length = static_cast<std::size_t>(shape_.grid.length),
               shift = static_cast<std::size_t>(shape_.grid.shift);
    archive.index(next_, Archive::kMostIndex / shape_.grid.shift);
    archive.count(filled_, length);
    archive.count(skip_, shift > length ? shift - length : 0);
    archive.values(std::span(noise_, dims()));
    if (archive.ok()) archive.values(std::span(samples_, filled_));
  }

  [[nodiscard]] std::size_t dims() const noexcept { return static_cast<std::size_t>(options_.num_mel_bins); }
  [[nodiscard]] const FrameGrid& grid() const noexcept { return shape_.grid; }
  [[nodiscard]] const MicrofrontendOptions& options() const noexcept { return options_; }
  [[nodiscard]] const MicrofrontendTables& tables() const noexcept { return tables_; }
  [[nodiscard]] std::size_t max_frames(std::size_t samples) const noexcept {
    return samples / static_cast<std::size_t>(shape_.grid.shift) + 1;
  }
  // Number of the next frame since reset.
  [[nodiscard]] std::int64_t next_frame() const noexcept { return next_; }

  // A value as int8 model input, as in TensorFlow Lite Micro's examples and microWakeWord: 0 .. 666
  // in 256 steps.
  static constexpr std::int8_t to_int8(std::uint16_t value) noexcept {
    const std::int32_t scaled = (value * 256 + 333) / 666 - 128;
    return static_cast<std::int8_t>(scaled > 127 ? 127 : scaled);
  }
  // What microWakeWord trains with: value * 10/256.
  static constexpr float to_float(std::uint16_t value) noexcept {
    return static_cast<float>(value) * 0.0390625F;
  }

 private:
  Microfrontend() noexcept = default;
  // State in 32-bit words, without the FFT's.
  static constexpr std::size_t words(std::size_t length, std::size_t fft_size,
                                     std::size_t channels) noexcept {
    const std::size_t bins = fft_size / 2 + 1;
    const std::size_t halves = length + fft_size + 2 * bins;
    return bins + 2 * channels + (halves + 1) / 2;
  }
  // Allocates everything but the tables, which follow the state.
  Status take_state(const MicrofrontendOptions& options, Isa isa, Memory& memory) noexcept;
  Status make_tables(Memory& memory) noexcept;
  Status start(Isa isa, Memory& memory) noexcept;
  template <class Sample>
  Step push_any(std::span<const Sample> samples, std::span<std::uint16_t> frames_out) noexcept;
  void channels(int shift) noexcept;
  void reduce_noise() noexcept;
  void normalise() noexcept;
  void write(std::uint16_t* out) const noexcept;

  MicrofrontendOptions options_;
  MicrofrontendShape shape_;
  FixedFft fft_;
  const FixedKernels* kernels_ = nullptr;
  std::uint16_t smoothing_[2] = {}, least_ = 0;  // in 14 fractional bits
  MicrofrontendTables tables_;
  std::uint32_t* energy_ = nullptr;   // [bins]
  std::uint32_t* signal_ = nullptr;   // [channels]
  std::uint32_t* noise_ = nullptr;    // [channels]
  std::int16_t* samples_ = nullptr;   // [length]: the frame being filled
  std::int16_t* frame_ = nullptr;     // [fft_size], zeros after the frame
  std::int16_t* spectrum_ = nullptr;  // [bins] pairs
  std::int64_t next_ = 0;
  std::size_t filled_ = 0, skip_ = 0;  // samples in samples_; to be dropped (shift > length)
};

}  // namespace runnel::features
