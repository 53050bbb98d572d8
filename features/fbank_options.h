// Everything that decides what a log-mel or MFCC front end computes. Names are those of torchaudio.compliance.kaldi; they are the same
// in command lines, graph text, model files and here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "features/framer.h"
#include "features/mel_bank.h"
#include "features/window.h"

namespace runnel::features {

enum class FeatureKind : std::uint8_t { fbank, mfcc };
// The range in which the recipe sees samples: [-1, 1), or that of int16. It shifts logarithms by 2 ln 32768 and moves floors and dither.
enum class SampleScale : std::uint8_t { unit, int16 };
enum class FftChoice : std::uint8_t { own, fftw };
enum class EmptyFilters : std::uint8_t { refuse, floor };
// Samples that are infinite or not a number: replaced by 0 and counted, or the end of the stream with an error.
enum class NonFinite : std::uint8_t { zero, error };

// The defaults are those of Kaldi's fbank, without dither.
struct FbankOptions {
  FeatureKind kind = FeatureKind::fbank;
  float sample_frequency = 16000;  // Hz
  float frame_length = 25;         // ms
  float frame_shift = 10;          // ms
  bool snip_edges = true;
  SampleScale scale = SampleScale::unit;
  float dither = 0;  // standard deviation of added Gaussian noise, in units of the scaled samples
  std::int32_t seed = 0;
  bool remove_dc_offset = true;
  float preemphasis_coefficient = 0.97F;
  WindowType window_type = WindowType::povey;
  float blackman_coeff = 0.42F;
  bool round_to_power_of_two = true;
  std::int32_t n_fft = 0;  // 0: the frame length, rounded up if round_to_power_of_two; else even and at least the frame length
  FftChoice fft = FftChoice::own;
  bool use_power = true;
  std::int32_t num_mel_bins = 23;
  float low_freq = 20;  // Hz
  float high_freq = 0;  // Hz; 0 and below: relative to half the sample frequency
  EmptyFilters empty_filters = EmptyFilters::refuse;
  bool htk_mode = false;  // mel energies are at least 1
  bool use_log_fbank = true;
  bool use_energy = false;
  bool raw_energy = true;
  float energy_floor = 0;
  bool htk_compat = false;
  std::int32_t num_ceps = 13;
  float cepstral_lifter = 22;
  NonFinite non_finite = NonFinite::zero;
};

// What follows from valid options.
struct FbankShape {
  FrameGrid grid;
  std::size_t fft_size = 0;
  MelSpec mel;
  std::size_t dims = 0;  // values per frame
};

// Checks every parameter and the ones that depend on each other. Errors: invalid_argument with the parameter, its value and its range.
// The frame length in samples is int(float(rate) * 0.001f * ms), in single precision, as in Kaldi.
Result<FbankShape> shape_of(const FbankOptions& options) noexcept;

}  // namespace runnel::features
