// Options of spectral front ends: log-mel, MFCC, spectrogram or STFT. Names follow torchaudio where it has
// them and are the same in command lines, graph text, model files and here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "features/fbank/mel_triangle.h"
#include "features/fbank/window.h"
#include "features/frames/framer.h"

namespace runnel::features {

// fbank: mel energies. mfcc: their cepstral coefficients. spectrogram: all floor(n_fft/2) + 1 bins. stft: the
// complex spectrum, real parts of all bins, then imaginary parts; frames are centred in the transform.
enum class FeatureKind : std::uint8_t { fbank, mfcc, spectrogram, stft };
// The recipe's range of samples: [-1, 1), or that of int16. It shifts logarithms by 2 ln 32768 and moves
// floors and dither.
enum class SampleScale : std::uint8_t { unit, int16 };
enum class FftChoice : std::uint8_t { own, fftw };
enum class EmptyFilters : std::uint8_t { refuse, floor };
// Infinite and NaN samples: replaced by 0 and counted, or an error that ends the stream.
enum class NonFinite : std::uint8_t { zero, error };
// ln, log10 or 10 log10.
enum class LogType : std::uint8_t { ln, log10, db };
// The maximum that limits logarithms from below (to log_max_range less): none; of the whole recording (frames
// appear only at its end, at most max_frames); of all frames up to the present one; or log_max_value.
enum class LogMax : std::uint8_t { none, global, running, fixed };
// Frames longer than the FFT: refused, or only their first n_fft samples count, as
// in numpy.fft.rfft(frame, n_fft).
enum class LongFrames : std::uint8_t { refuse, cut };
// Source of the log energy: the samples (see raw_energy) or the sum of the power spectrum.
enum class EnergySource : std::uint8_t { samples, spectrum };

// The defaults are those of Kaldi's fbank, without dither.
struct FbankOptions {
  FeatureKind kind = FeatureKind::fbank;
  float sample_frequency = 16000;  // Hz
  float frame_length = 25;         // ms
  float frame_shift = 10;          // ms
  std::int32_t win_length = 0;     // samples; 0: from frame_length
  std::int32_t hop_length = 0;     // samples; 0: from frame_shift
  bool snip_edges = true;
  bool center =
      false;  // frames are centred on multiples of the shift, as in torch.stft; snip_edges is ignored
  Padding pad_mode = Padding::mirror;  // outside the recording, with center or without snip_edges
  bool drop_last_frame = false;        // with center
  SampleScale scale = SampleScale::unit;
  float dither = 0;  // standard deviation of added Gaussian noise, in units of the scaled samples
  std::int32_t seed = 0;
  bool remove_dc_offset = true;
  float preemphasis_coefficient = 0.97F;
  WindowType window_type = WindowType::povey;
  float blackman_coeff = 0.42F;
  bool round_to_power_of_two = true;
  std::int32_t n_fft = 0;  // 0: the frame length, rounded up if round_to_power_of_two
  LongFrames long_frames = LongFrames::refuse;
  bool normalize_power = false;  // power divided by the FFT size
  FftChoice fft = FftChoice::own;
  bool use_power = true;
  std::int32_t num_mel_bins = 23;
  float low_freq = 20;  // Hz
  float high_freq = 0;  // Hz; 0 and below: relative to half the sample frequency
  MelScale mel_scale = MelScale::htk;
  MelNorm mel_norm = MelNorm::none;
  MelShape mel_shape = MelShape::mel;
  EmptyFilters empty_filters = EmptyFilters::refuse;
  bool htk_mode = false;  // mel energies are at least 1
  bool use_log_fbank = true;
  LogType log_type = LogType::ln;
  float log_floor = 1.1920929e-7F;
  LogMax log_max = LogMax::none;
  float log_max_value = 0;
  float log_max_range = 8;
  std::int32_t max_frames = 3000;  // log_max = global: frames of the longest recording
  bool use_energy = false;
  bool raw_energy = true;
  EnergySource energy_source = EnergySource::samples;
  float energy_floor = 0;
  bool htk_compat = false;
  std::int32_t num_ceps = 13;
  float cepstral_lifter = 22;
  // Final step: (x + output_offset) * output_scale, rounded to multiples of 1 / output_steps (0: not),
  // limited to 0 .. 1.
  float output_offset = 0, output_scale = 1;
  std::int32_t output_steps = 0;
  bool output_limit = false;
  NonFinite non_finite = NonFinite::zero;

  friend bool operator==(const FbankOptions&, const FbankOptions&) = default;
};

// Sizes that follow from valid options.
struct FbankShape {
  FrameGrid grid;
  std::size_t fft_size = 0;
  std::size_t used = 0;  // samples of a frame that reach the transform
  MelSpec mel;           // fbank and mfcc
  std::size_t dims = 0;  // values per frame

  [[nodiscard]] constexpr std::size_t spectrum() const noexcept { return fft_size / 2 + 1; }  // bins
};

// For valid options; shape_of() checks them. The frame length in samples is int(float(rate) * 0.001f * ms),
// in single precision, as in Kaldi.
constexpr FbankShape unchecked_shape_of(const FbankOptions& o) noexcept {
  const auto samples_of = [&o](float milliseconds) {
    const float per_ms = o.sample_frequency * 0.001F;
    return static_cast<std::int64_t>(per_ms * milliseconds);
  };
  FbankShape shape;
  shape.grid = {.length = o.win_length > 0 ? o.win_length : samples_of(o.frame_length),
                .shift = o.hop_length > 0 ? o.hop_length : samples_of(o.frame_shift),
                .placement = o.center       ? FramePlacement::centred
                             : o.snip_edges ? FramePlacement::inside
                                            : FramePlacement::shifts,
                .padding = o.pad_mode,
                .size = 0,
                .drop_last = o.center && o.drop_last_frame};
  const auto length = static_cast<std::size_t>(shape.grid.length);
  shape.fft_size = length;
  if (o.n_fft > 0) {
    shape.fft_size = static_cast<std::size_t>(o.n_fft);
  } else if (o.round_to_power_of_two) {
    for (shape.fft_size = 2; shape.fft_size < length;) shape.fft_size *= 2;
  }
  shape.used = length < shape.fft_size ? length : shape.fft_size;
  if (o.center && shape.fft_size > length) shape.grid.size = static_cast<std::int64_t>(shape.fft_size);
  if (o.kind == FeatureKind::spectrogram || o.kind == FeatureKind::stft) {
    shape.dims = (o.kind == FeatureKind::stft ? 2 : 1) * shape.spectrum();
    return shape;
  }
  const float nyquist = o.sample_frequency / 2;
  shape.mel = {.filters = o.num_mel_bins,
               .low_hz = o.low_freq,
               .high_hz = o.high_freq > 0 ? o.high_freq : nyquist + o.high_freq,
               .rate_hz = o.sample_frequency,
               .fft_size = shape.fft_size,
               .allow_empty = o.empty_filters == EmptyFilters::floor,
               .scale = o.mel_scale,
               .norm = o.mel_norm,
               .shape = o.mel_shape};
  shape.dims = o.kind == FeatureKind::mfcc
                   ? static_cast<std::size_t>(o.num_ceps)
                   : static_cast<std::size_t>(o.num_mel_bins) + (o.use_energy ? 1 : 0);
  return shape;
}

// Checks every parameter and the ones that depend on each other. Errors: invalid_argument with the parameter,
// its value and its range.
Result<FbankShape> shape_of(const FbankOptions& options) noexcept;

}  // namespace runnel::features
