#include "features/microfrontend_options.h"

#include <bit>

#include "features/fixed_fft.h"

namespace runnel::features {
namespace {

using O = MicrofrontendOptions;
constexpr MicrofrontendParameter kParameters[] = {
    real<&O::sample_frequency>("sample_frequency", "Hz", 10, 768000, "rate of the samples"),
    real<&O::frame_length>("frame_length", "ms", 0.01, 100000, "length of a frame; rounded down to whole samples"),
    real<&O::frame_shift>("frame_shift", "ms", 0.01, 100000, "distance of frames; rounded down to whole samples"),
    integer<&O::num_mel_bins>("num_mel_bins", 1, 1024, "mel channels"),
    real<&O::low_freq>("low_freq", "Hz", 0, 384000, "lower end of the filter bank"),
    real<&O::high_freq>("high_freq", "Hz", 1, 384000, "upper end of the filter bank"),
    integer<&O::smoothing_bits>("smoothing_bits", 0, 16, "fractional bits of the noise estimate"),
    real<&O::even_smoothing>("even_smoothing", "", 0, 1, "how fast the noise estimate follows, channels 0, 2, .."),
    real<&O::odd_smoothing>("odd_smoothing", "", 0, 1, "how fast the noise estimate follows, channels 1, 3, .."),
    real<&O::min_signal_remaining>("min_signal_remaining", "", 0, 1, "least part of the signal that noise reduction leaves"),
    boolean<&O::enable_pcan>("enable_pcan", "per-channel amplitude normalisation"),
    real<&O::pcan_strength>("pcan_strength", "", 0, 4, "exponent of its gain, (noise + offset)^-strength"),
    real<&O::pcan_offset>("pcan_offset", "", 0.001, 1e9, "offset of its gain"),
    integer<&O::gain_bits>("gain_bits", 0, 31, "fractional bits of its gain"),
    boolean<&O::enable_log>("enable_log", "natural logarithm of the channels"),
    integer<&O::scale_shift>("scale_shift", 0, 16, "fractional bits of the logarithm"),
};

constexpr O kPlain{.sample_frequency = 16000,
                   .frame_length = 25,
                   .frame_shift = 10,
                   .num_mel_bins = 32,
                   .low_freq = 125,
                   .high_freq = 7500,
                   .smoothing_bits = 10,
                   .even_smoothing = 0.025F,
                   .odd_smoothing = 0.06F,
                   .min_signal_remaining = 0.05F,
                   .enable_pcan = false,
                   .pcan_strength = 0.95F,
                   .pcan_offset = 80,
                   .gain_bits = 21,
                   .enable_log = true,
                   .scale_shift = 6};

constexpr O speech(float shift) {
  O options = kPlain;
  options.frame_length = 30;
  options.frame_shift = shift;
  options.num_mel_bins = 40;
  options.enable_pcan = true;
  return options;
}

constexpr MicrofrontendPreset kPresets[] = {
    {"microfrontend", "the C library's own settings: 25 ms each 10 ms, 32 channels, no PCAN", kPlain},
    {"micro-speech", "TensorFlow Lite Micro's micro_speech: 30 ms each 20 ms, 40 channels", speech(20)},
    {"micro-wake-word", "microWakeWord: 30 ms each 10 ms, 40 channels", speech(10)},
};

std::int64_t samples_of(float rate, float milliseconds) noexcept {
  return static_cast<std::int64_t>(static_cast<double>(rate) * static_cast<double>(milliseconds) / 1000);
}

constexpr int kFilterbankBits = 12, kSnrBits = 12;

}  // namespace

std::span<const MicrofrontendParameter> microfrontend_parameters() noexcept { return kParameters; }

Status set(MicrofrontendOptions& options, std::string_view name, std::string_view value) noexcept {
  return set_by_name(microfrontend_parameters(), options, name, value);
}

std::span<const MicrofrontendPreset> microfrontend_presets() noexcept { return kPresets; }

Result<MicrofrontendOptions> microfrontend_preset(std::string_view name) noexcept {
  return find_preset(microfrontend_presets(), name);
}

Result<MicrofrontendShape> shape_of(const MicrofrontendOptions& o) noexcept {
  for (const MicrofrontendParameter& parameter : microfrontend_parameters()) RUNNEL_TRY(check(parameter, o));
  MicrofrontendShape shape;
  shape.grid = {.length = samples_of(o.sample_frequency, o.frame_length), .shift = samples_of(o.sample_frequency, o.frame_shift)};
  constexpr auto kLongest = static_cast<std::int64_t>(FixedFft::kMax);
  if (shape.grid.length < 2 || shape.grid.length > kLongest) {
    return Status(Code::invalid_argument) << "frame_length: " << shape.grid.length << " samples, expected 2 to " << kLongest;
  }
  if (shape.grid.shift < 1) return Status(Code::invalid_argument, "frame_shift: less than one sample, expected at least 1");
  shape.fft_size = FixedFft::kMin;
  while (shape.fft_size < static_cast<std::size_t>(shape.grid.length)) shape.fft_size *= 2;
  shape.correction_bits = std::bit_width(shape.fft_size) - 1 - kFilterbankBits / 2;
  if (!(o.high_freq > o.low_freq) || o.high_freq > o.sample_frequency / 2) {
    return Status(Code::invalid_argument) << "high_freq: expected more than low_freq and at most half of sample_frequency";
  }
  if (o.enable_pcan && o.gain_bits < shape.correction_bits + kSnrBits) {
    return Status(Code::invalid_argument) << "gain_bits=" << o.gain_bits << ": expected " << shape.correction_bits + kSnrBits
                                          << " to 31 for an FFT of " << shape.fft_size << " points";
  }
  if (o.enable_pcan && o.smoothing_bits < shape.correction_bits) {
    return Status(Code::invalid_argument) << "smoothing_bits=" << o.smoothing_bits << ": expected " << shape.correction_bits
                                          << " to 16 for an FFT of " << shape.fft_size << " points";
  }
  return shape;
}

}  // namespace runnel::features
