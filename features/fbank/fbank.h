// Spectral front ends of a stream, by Kaldi's recipe (D. Povey et al., The Kaldi Speech Recognition Toolkit,
// 2011) with the variations of other training pipelines, in this order: dither, mean removal, energy,
// pre-emphasis, window, FFT, power, mel bank, logarithm, limit below the maximum; for MFCC the orthonormal
// DCT-II and the lifter; scale of the output.
//
// The same recording gives the same bits however it is cut into blocks, on every instruction set and machine.
// Only make() allocates. Read-only data may be in flash memory (fbank_tables.h).
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
#include "features/fbank/fbank_options.h"
#include "features/fbank/fbank_steps.h"
#include "features/fbank/fbank_tables.h"
#include "features/fbank/mel_bank.h"
#include "features/fft/fft.h"
#include "features/frames/framer.h"

namespace runnel::features {

// One stream. Not thread-safe; movable; the Memory (and a given FFT) must outlive it.
class Fbank : public FbankSteps<Fbank, Framer> {
  struct Empty {};

 public:
  explicit Fbank(Empty) noexcept {}  // for make_in()
  // `fft`: a transform of the size in shape_of(options), required when options.fft is fftw; nullptr: runnel's
  // own. Errors: those of shape_of() and MelBank; unsupported when options.fft is fftw and none is given;
  // mismatch when its size differs; out_of_memory.
  static Result<Fbank> make(const FbankOptions& options, Isa isa, Memory& memory,
                            RealFft* fft = nullptr) noexcept;
  // With existing tables, which must outlive this; needs no double precision. Errors: mismatch when their
  // number of parallel filters is neither 1 nor that of `isa`; those of a given FFT; out_of_memory.
  static Result<Fbank> make(const FbankTables& tables, Isa isa, Memory& memory,
                            RealFft* fft = nullptr) noexcept;
  // The same, constructed in `place`: a temporary would be the largest part of a microcontroller's stack.
  // After a failure `place` is unusable.
  static Status make_in(std::optional<Fbank>& place, const FbankTables& tables, Isa isa, Memory& memory,
                        RealFft* fft = nullptr) noexcept;
  // A second stream like `first`, sharing its tables and frame memory: `first` must outlive it, and one
  // thread uses both. Errors: unsupported when `first` uses a given FFT; out_of_memory.
  static Status make_like(std::optional<Fbank>& place, const Fbank& first, Memory& memory) noexcept;
  // The same with the compile-time tables of Recipe::kOptions.
  template <class Recipe>
  static Result<Fbank> make_of(Isa isa, Memory& memory) noexcept {
    static constexpr FbankTables kTables = RomFbankTables<Recipe>::view();
    return make(kTables, isa, memory);
  }
  // Bytes that make(options) takes of a 64-byte aligned Memory.
  static Result<std::size_t> memory_bytes(const FbankOptions& options, Isa isa) noexcept;
  // The same for options that shape_of() accepts, with `lanes` parallel filters (kernels_for(isa).lanes).
  static constexpr std::size_t memory_bytes_of(const FbankOptions& options, std::int32_t lanes = 1) noexcept {
    const FbankShape shape = unchecked_shape_of(options);
    return align_up(fbank_table_sizes(options, shape, lanes).bytes(), 64) + state_bytes_of(options, shape);
  }
  // The part that make(tables) and make_of() take.
  static constexpr std::size_t state_bytes_of(const FbankOptions& options) noexcept {
    return state_bytes_of(options, unchecked_shape_of(options));
  }

  Fbank(Fbank&&) noexcept = default;
  Fbank& operator=(Fbank&&) noexcept = default;

  // The tables, which can be written out for other machines if made for one filter at
  // a time (Isa::reference).
  [[nodiscard]] const FbankTables& tables() const noexcept { return tables_; }

 private:
  friend class FbankSteps<Fbank, Framer>;
  static constexpr std::size_t state_bytes_of(const FbankOptions& options, const FbankShape& shape) noexcept {
    return align_up(Framer::memory_bytes(shape.grid), 64) + Arrays(options, shape).bytes() +
           (options.fft == FftChoice::own ? OwnFft::state_bytes(shape.fft_size) : 0);
  }

  Fbank(const Fbank&) noexcept = default;
  Fbank& operator=(const Fbank&) noexcept = default;
  // For FbankSteps.
  [[nodiscard]] const Kernels& kernels() const noexcept { return *kernels_; }
  void forward(const float* in, float* re, float* im) noexcept {
    (other_fft_ != nullptr ? *other_fft_ : static_cast<RealFft&>(own_fft_)).forward(in, re, im);
  }
  bool forward_power(const float* in, float* power, float* scratch) noexcept {
    return other_fft_ == nullptr && own_fft_.forward_power(in, power, scratch);
  }
  [[nodiscard]] const MelRows& mel_rows() const noexcept { return mel_.rows(); }
  [[nodiscard]] const float* dct() const noexcept { return dct_; }

  FbankTables tables_;
  const Kernels* kernels_ = nullptr;
  OwnFft own_fft_;
  RealFft* other_fft_ = nullptr;
  MelBank mel_;
  const float* dct_ = nullptr;  // [filters][padded coefficients], lifter included
};

extern template class FbankSteps<Fbank, Framer>;

}  // namespace runnel::features
