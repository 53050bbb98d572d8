// Options whose FFT uses a chirp, so that their tables cannot be computed at compile time.
#pragma once

#include "features/fbank/fbank_presets.h"
#include "features/microfrontend/microfrontend_presets.h"

namespace runnel::features {

constexpr FbankOptions written_down_options() {
  return changed(constant_preset("kaldi-mfcc"), [](FbankOptions& o) {
    o.win_length = 74;
    o.round_to_power_of_two = false;
    o.num_mel_bins = 9;
    o.num_ceps = 5;
    o.high_freq = -400.3F;
    o.energy_floor = 0.1F;
    o.log_type = LogType::db;
    o.window_type = WindowType::hamming;
  });
}

// With gains and a grid that no preset has.
constexpr MicrofrontendOptions written_down_microfrontend() {
  MicrofrontendOptions options = microfrontend_table::speech(12.5F);
  options.sample_frequency = 8000;
  options.high_freq = 3400;
  options.num_mel_bins = 23;
  options.pcan_strength = 0.7F;
  return options;
}

}  // namespace runnel::features
