// Log-mel filter banks and MFCC of a stream, by Kaldi's recipe (D. Povey et al., The Kaldi Speech Recognition Toolkit, 2011), in this
// order: dither, mean removal, energy, pre-emphasis, window, FFT, power, mel bank, logarithm; for MFCC the orthonormal DCT-II and the lifter.
//
// The same recording gives the same bits however it is cut into pieces, on every instruction set and machine. Memory is taken once,
// in make(); nothing allocates afterwards.
//
//     Result<Fbank> fbank = Fbank::make(options, best_isa(), memory);
//     while (read(samples)) { auto step = fbank->push(samples, frames); use(frames, step.frames); }
//     while (std::size_t n = fbank->flush(frames)) use(frames, n);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "features/fbank_options.h"
#include "features/fft.h"
#include "features/framer.h"
#include "features/mel_bank.h"

namespace runnel::features {

// One stream. Not thread-safe; movable; the Memory (and an FFT brought along) must outlive it.
class Fbank {
 public:
  // `fft`: a transform of the size shape_of(options) says, required when options.fft is fftw, otherwise nullptr for runnel's own.
  // Errors: those of shape_of() and MelBank; unsupported when options.fft is fftw and none is given; mismatch when its size differs;
  // out_of_memory.
  static Result<Fbank> make(const FbankOptions& options, Isa isa, Memory& memory, RealFft* fft = nullptr) noexcept;
  // Bytes that make() takes of a 64-byte aligned Memory.
  static Result<std::size_t> memory_bytes(const FbankOptions& options, Isa isa) noexcept;

  Fbank(Fbank&&) noexcept = default;
  Fbank& operator=(Fbank&&) noexcept = default;

  struct Step {
    std::size_t samples;  // taken
    std::size_t frames;   // written
  };
  // Takes samples in [-1, 1) (scale=int16 multiplies them by 32768) and writes the frames that are complete, dims() values each, one after
  // the other. It stops early only when frames_out is full, or at a sample that is not finite under non_finite=error (see status()).
  // Room for max_frames(samples.size()) frames is always enough.
  Step push(std::span<const float> samples, std::span<float> frames_out) noexcept;
  // The same for 16-bit samples: exactly what the floats sample / 32768 would give.
  Step push(std::span<const std::int16_t> samples, std::span<float> frames_out) noexcept;
  // The recording has ended: writes the frames that are still missing, as many as fit; 0 when there are none left. After flush() only
  // flush() and reset() are of use: push() takes nothing.
  std::size_t flush(std::span<float> frames_out) noexcept;
  // As new: the next sample is number 0.
  void reset() noexcept;

  [[nodiscard]] std::size_t dims() const noexcept { return shape_.dims; }
  [[nodiscard]] const FbankShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const FbankOptions& options() const noexcept { return options_; }
  // Most frames that one push of this many samples can give, or a flush with samples = frame length.
  [[nodiscard]] std::size_t max_frames(std::size_t samples) const noexcept;
  [[nodiscard]] std::size_t max_flush_frames() const noexcept;
  // Number of the next frame since reset. Frame f begins at sample shape().grid.start_of(f); its middle is length / 2 later.
  [[nodiscard]] std::int64_t next_frame() const noexcept { return framer_.next_frame(); }
  [[nodiscard]] std::int64_t samples_received() const noexcept { return framer_.received(); }
  [[nodiscard]] std::int64_t non_finite_samples() const noexcept { return non_finite_; }
  // invalid_data after a sample was refused, naming it; ok otherwise.
  [[nodiscard]] Status status() const noexcept;

 private:
  Fbank() noexcept = default;
  template <class Sample>
  Step push_any(std::span<const Sample> samples, std::span<float> frames_out) noexcept;
  std::size_t fill(const float* from, std::span<float> to) noexcept;
  std::size_t fill(const std::int16_t* from, std::span<float> to) noexcept;
  std::size_t take_frames(std::span<float> frames_out, std::size_t already) noexcept;
  void compute(const float* samples, float* out) noexcept;
  float log_energy(float energy) const noexcept;
  RealFft& fft() noexcept { return other_fft_ != nullptr ? *other_fft_ : own_fft_; }

  FbankOptions options_;
  FbankShape shape_;
  const Kernels* kernels_ = nullptr;
  Framer framer_;
  OwnFft own_fft_;
  RealFft* other_fft_ = nullptr;
  MelBank mel_;
  float* window_ = nullptr;    // [length]
  float* frame_ = nullptr;     // [fft_size], zeros behind the frame
  float* re_ = nullptr;        // [fft_size / 2 + 1], then the power
  float* im_ = nullptr;        // [fft_size / 2 + 1]
  float* energies_ = nullptr;  // [padded filters]
  float* cepstra_ = nullptr;   // [padded coefficients]
  float* dct_ = nullptr;       // [filters][padded coefficients], lifter included
  float* noisy_ = nullptr;     // [length], with dither
  float log_energy_floor_ = 0;
  std::int64_t non_finite_ = 0, refused_at_ = -1;
  bool flushed_ = false;
};

}  // namespace runnel::features
