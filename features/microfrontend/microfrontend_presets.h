// Presets of the fixed-point front end as constants, for compile-time tables (microfrontend_tables.h).
#pragma once

#include "features/microfrontend/microfrontend_options.h"

namespace runnel::features {
namespace microfrontend_table {

inline constexpr MicrofrontendOptions kPlain{.sample_frequency = 16000,
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

constexpr MicrofrontendOptions speech(float shift) {
  MicrofrontendOptions options = kPlain;
  options.frame_length = 30;
  options.frame_shift = shift;
  options.num_mel_bins = 40;
  options.enable_pcan = true;
  return options;
}

inline constexpr MicrofrontendPreset kPresets[] = {
    {"microfrontend", "the C library's own settings: 25 ms each 10 ms, 32 channels, no PCAN", kPlain},
    {"micro-speech", "TensorFlow Lite Micro's micro_speech: 30 ms each 20 ms, 40 channels", speech(20)},
    {"micro-wake-word", "microWakeWord: 30 ms each 10 ms, 40 channels", speech(10)},
};

}  // namespace microfrontend_table

struct MicroWakeWordRecipe {
  static constexpr MicrofrontendOptions kOptions = microfrontend_table::speech(10);
};
struct MicroSpeechRecipe {
  static constexpr MicrofrontendOptions kOptions = microfrontend_table::speech(20);
};

}  // namespace runnel::features
