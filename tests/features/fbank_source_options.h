// Options whose FFT goes through a chirp, so that the compiler cannot make their tables itself.
#pragma once

#include "features/fbank_presets.h"

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

}  // namespace runnel::features
