// Spectral front ends of a stream, by Kaldi's recipe (D. Povey et al., The Kaldi Speech Recognition Toolkit, 2011)
// with the variations of other training pipelines, in this order: dither, mean removal, energy, pre-emphasis,
// window, FFT, power, mel bank, logarithm, limit below the maximum; for MFCC the orthonormal DCT-II and the lifter;
// scale of the output.
//
// The same recording gives the same bits however it is cut into pieces, on every instruction set and machine.
// Memory is taken once, in make(); nothing allocates afterwards. What is only read may lie in flash memory (fbank_tables.h).
//
//     Result<Fbank> fbank = Fbank::make(options, best_isa(), memory);
//     while (read(samples)) { auto step = fbank->push(samples, frames); use(frames, step.frames); }
//     while (std::size_t n = fbank->flush(frames)) use(frames, n);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "features/fbank_options.h"
#include "features/fbank_tables.h"
#include "features/fft.h"
#include "features/framer.h"
#include "features/mel_bank.h"

namespace runnel::features {

// One stream. Not thread-safe; movable; the Memory (and an FFT brought along) must outlive it.
class Fbank {
  struct Empty {};

 public:
  explicit Fbank(Empty) noexcept {}   // for make_in()
  // `fft`: a transform of the size shape_of(options) says, required when options.fft is fftw, otherwise
  // nullptr for runnel's own. Errors: those of shape_of() and MelBank; unsupported when options.fft is fftw
  // and none is given; mismatch when its size differs; out_of_memory.
  static Result<Fbank> make(const FbankOptions& options, Isa isa, Memory& memory,
                            RealFft* fft = nullptr) noexcept;
  // With tables that are made already; they must outlive this. Takes no arithmetic in double precision. Errors: mismatch when they are
  // for another number of filters side by side than `isa` has, and not for one; those of an FFT brought along; out_of_memory.
  static Result<Fbank> make(const FbankTables& tables, Isa isa, Memory& memory, RealFft* fft = nullptr) noexcept;
  // The same where it is to be: a copy on the way would be the largest part of a microcontroller's stack. After a failure `place` is of no use.
  static Status make_in(std::optional<Fbank>& place, const FbankTables& tables, Isa isa, Memory& memory, RealFft* fft = nullptr) noexcept;
  // One that computes what `first` computes, with a stream of its own: tables and the memory of the frame at hand are those of `first`, which must outlive
  // it, and both are used by one thread. `first` uses no transform that was brought along. Errors: unsupported when it does; out_of_memory.
  static Status make_like(std::optional<Fbank>& place, const Fbank& first, Memory& memory) noexcept;
  // The same with the tables of Recipe::kOptions, which the compiler makes.
  template <class Recipe>
  static Result<Fbank> make_of(Isa isa, Memory& memory) noexcept {
    static constexpr FbankTables kTables = ConstantFbankTables<Recipe>::view();
    return make(kTables, isa, memory);
  }
  // Bytes that make(options) takes of a 64-byte aligned Memory.
  static Result<std::size_t> memory_bytes(const FbankOptions& options, Isa isa) noexcept;
  // The same of options that shape_of() accepts, with so many filters side by side (kernels_for(isa).lanes).
  static constexpr std::size_t memory_bytes_of(const FbankOptions& options, std::int32_t lanes = 1) noexcept {
    const FbankShape shape = unchecked_shape_of(options);
    return align_up(fbank_table_sizes(options, shape, lanes).bytes(), 64) + state_bytes_of(options, shape);
  }
  // Of these, what make(tables) and make_of() take.
  static constexpr std::size_t state_bytes_of(const FbankOptions& options) noexcept { return state_bytes_of(options, unchecked_shape_of(options)); }

  Fbank(Fbank&&) noexcept = default;
  Fbank& operator=(Fbank&&) noexcept = default;

  struct Step {
    std::size_t samples;  // taken
    std::size_t frames;   // written
  };
  // Takes samples in [-1, 1) (scale=int16 multiplies them by 32768) and writes the frames that are complete,
  // dims() values each, one after the other. It stops early only when frames_out is full, at a sample that is not
  // finite under non_finite=error, or, under log_max=global, when the recording is too long (see status()). Room for
  // max_frames(samples.size()) frames is always enough.
  Step push(std::span<const float> samples, std::span<float> frames_out) noexcept;
  // The same for 16-bit samples: exactly what the floats sample / 32768 would give.
  Step push(std::span<const std::int16_t> samples, std::span<float> frames_out) noexcept;
  // The recording has ended: writes the frames that are still missing, as many as fit; 0 when there are none
  // left. After flush() only flush() and reset() are of use: push() takes nothing.
  std::size_t flush(std::span<float> frames_out) noexcept;
  // As new: the next sample is number 0.
  void reset() noexcept;

  [[nodiscard]] std::size_t dims() const noexcept { return tables_.shape.dims; }
  [[nodiscard]] const FbankShape& shape() const noexcept { return tables_.shape; }
  [[nodiscard]] const FbankOptions& options() const noexcept { return tables_.options; }
  // What this reads: to be written down for other machines when it was made for one filter at a time (Isa::reference).
  [[nodiscard]] const FbankTables& tables() const noexcept { return tables_; }
  // Most frames that one push of this many samples can give, or a flush with samples = frame length.
  [[nodiscard]] std::size_t max_frames(std::size_t samples) const noexcept;
  [[nodiscard]] std::size_t max_flush_frames() const noexcept;
  // Number of the next frame that will be written, since reset. Frame f begins at sample shape().grid.start_of(f); its middle is
  // length / 2 later.
  [[nodiscard]] std::int64_t next_frame() const noexcept { return holds() ? given_ : framer_.next_frame(); }
  [[nodiscard]] std::int64_t samples_received() const noexcept { return framer_.received(); }
  [[nodiscard]] std::int64_t non_finite_samples() const noexcept { return non_finite_; }
  // invalid_data after a sample was refused, naming it, or a recording too long for max_frames; ok otherwise.
  [[nodiscard]] Status status() const noexcept;

 private:
  // Sizes of its own arrays, in floats.
  struct Arrays {
    std::size_t frame, half, values, cepstra, noisy, held;
    constexpr Arrays(const FbankOptions& o, const FbankShape& shape) noexcept
        : frame(fbank::padded(shape.fft_size)),
          half(fbank::padded(shape.spectrum() + 1)),
          values(fbank::padded(count_of(o, shape))),
          cepstra(o.kind == FeatureKind::mfcc ? fbank::padded(static_cast<std::size_t>(o.num_ceps)) : 0),
          noisy(o.dither > 0 ? fbank::padded(shape.used) : 0),
          held(o.log_max == LogMax::global ? static_cast<std::size_t>(o.max_frames) * stride() : 0) {}
    [[nodiscard]] constexpr std::size_t stride() const noexcept { return values + 16; }
    [[nodiscard]] constexpr std::size_t bytes() const noexcept { return (frame + 2 * half + values + cepstra + noisy + held) * sizeof(float); }
  };
  // Values of a frame before the maximum limits them.
  static constexpr std::size_t count_of(const FbankOptions& o, const FbankShape& shape) noexcept {
    return has_mel(o) ? static_cast<std::size_t>(o.num_mel_bins) : shape.dims;
  }
  static constexpr std::size_t state_bytes_of(const FbankOptions& options, const FbankShape& shape) noexcept {
    return align_up(Framer::memory_bytes(shape.grid), 64) + Arrays(options, shape).bytes() +
           (options.fft == FftChoice::own ? OwnFft::state_bytes(shape.fft_size) : 0);
  }

  Fbank() noexcept = default;
  Fbank(const Fbank&) noexcept = default;
  Fbank& operator=(const Fbank&) noexcept = default;
  template <class Sample>
  Step push_any(std::span<const Sample> samples, std::span<float> frames_out) noexcept;
  std::size_t fill(const float* from, std::span<float> to) noexcept;
  std::size_t fill(const std::int16_t* from, std::span<float> to) noexcept;
  std::size_t take_frames(std::span<float> frames_out, std::size_t already) noexcept;
  std::size_t give_held(std::span<float> frames_out) noexcept;
  [[nodiscard]] bool holds() const noexcept { return held_ != nullptr; }
  // One frame: from samples to the values before the limit; `energy` is written when it is used.
  void analyse(const float* samples, float* values, float* energy) noexcept;
  // From there to the result.
  void conclude(float* values, float energy, float* out) noexcept;
  void take_logarithm(float* values, std::size_t count) const noexcept;
  void limit(float* values, std::size_t count) noexcept;
  void scale_output(float* out) const noexcept;
  RealFft& fft() noexcept { return other_fft_ != nullptr ? *other_fft_ : own_fft_; }

  FbankTables tables_;
  const Kernels* kernels_ = nullptr;
  Framer framer_;
  OwnFft own_fft_;
  RealFft* other_fft_ = nullptr;
  MelBank mel_;
  const float* window_ = nullptr;  // [used]
  const float* dct_ = nullptr;     // [filters][padded coefficients], lifter included
  float* frame_ = nullptr;     // [fft_size], zeros around the frame
  float* re_ = nullptr;        // [spectrum + 1], then the power, and a zero behind the bins of the mel bank
  float* im_ = nullptr;        // [spectrum + 1]
  float* values_ = nullptr;    // [padded filters or bins]
  float* cepstra_ = nullptr;   // [padded coefficients]
  float* noisy_ = nullptr;     // [used], with dither
  float* held_ = nullptr;      // log_max = global: [max_frames][padded values, energy]
  std::size_t count_ = 0, stride_ = 0;  // values before the result; floats of a held frame
  std::size_t offset_ = 0;     // of the frame in frame_
  float largest_ = 0;          // logarithm so far; meaningful when any_ is true
  bool any_ = false;
  std::int64_t held_frames_ = 0, given_ = 0;
  bool too_long_ = false;
  std::int64_t non_finite_ = 0, refused_at_ = -1;
  bool flushed_ = false;
};

}  // namespace runnel::features
