// Options of the fixed-point front end, its presets, and options by name.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "features/frames/framer.h"
#include "features/parameters.h"

namespace runnel::features {

// The defaults are those of TensorFlow Lite Micro's C library at 16 kHz.
struct MicrofrontendOptions {
  float sample_frequency = 16000;  // Hz
  float frame_length = 25;         // ms
  float frame_shift = 10;          // ms
  std::int32_t num_mel_bins = 32;
  float low_freq = 125;    // Hz
  float high_freq = 7500;  // Hz
  // Noise reduction: per channel, subtracts an estimate that follows the signal.
  std::int32_t smoothing_bits = 10;  // fractional bits of the estimate
  float even_smoothing = 0.025F;     // how fast it follows in channels 0, 2, ..
  float odd_smoothing = 0.06F;       // in channels 1, 3, ..
  float min_signal_remaining = 0.05F;
  // Per-channel amplitude normalisation: gain (noise + offset)^-strength.
  bool enable_pcan = false;
  float pcan_strength = 0.95F;
  float pcan_offset = 80;
  std::int32_t gain_bits = 21;
  // Natural logarithm, in units of 2^-scale_shift.
  bool enable_log = true;
  std::int32_t scale_shift = 6;
};

// Sizes that follow from valid options.
struct MicrofrontendShape {
  FrameGrid grid;
  std::size_t fft_size = 0;
  int correction_bits = 0;  // bits that the FFT's size adds to the filter bank's weights
};

// For valid options; shape_of() checks them.
constexpr MicrofrontendShape unchecked_shape_of(const MicrofrontendOptions& options) noexcept {
  const auto samples = [&](float milliseconds) {
    return static_cast<std::int64_t>(static_cast<double>(options.sample_frequency) *
                                     static_cast<double>(milliseconds) / 1000);
  };
  MicrofrontendShape shape;
  shape.grid = {.length = samples(options.frame_length), .shift = samples(options.frame_shift)};
  shape.fft_size = 8;
  while (shape.fft_size < static_cast<std::size_t>(shape.grid.length) && shape.fft_size < 32768)
    shape.fft_size *= 2;
  shape.correction_bits =
      std::bit_width(shape.fft_size) - 1 - 6;  // half of the 12 bits of the filter bank's weights
  return shape;
}

using MicrofrontendParameter = ParameterOf<MicrofrontendOptions>;
std::span<const MicrofrontendParameter> microfrontend_parameters() noexcept;
Status set(MicrofrontendOptions& options, std::string_view name, std::string_view value) noexcept;

using MicrofrontendPreset = PresetOf<MicrofrontendOptions>;
std::span<const MicrofrontendPreset> microfrontend_presets() noexcept;
// Errors: not_found with the nearest known name, or all of them.
Result<MicrofrontendOptions> microfrontend_preset(std::string_view name) noexcept;

// Checks every option and their combinations. Errors: invalid_argument with the option, its value and
// what is allowed.
Result<MicrofrontendShape> shape_of(const MicrofrontendOptions& options) noexcept;

}  // namespace runnel::features
