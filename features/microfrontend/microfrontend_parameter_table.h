// Table of the fixed-point front end's options, for compile-time tables. All other
// code uses microfrontend_options.h.
#pragma once

#include "features/microfrontend/microfrontend_options.h"

namespace runnel::features::microfrontend_table {

using O = MicrofrontendOptions;
inline constexpr MicrofrontendParameter kParameters[] = {
    real<&O::sample_frequency>("sample_frequency", "Hz", 10, 768000, "rate of the samples"),
    real<&O::frame_length>("frame_length", "ms", 0.01, 100000,
                           "length of a frame; rounded down to whole samples"),
    real<&O::frame_shift>("frame_shift", "ms", 0.01, 100000,
                          "distance of frames; rounded down to whole samples"),
    integer<&O::num_mel_bins>("num_mel_bins", 1, 1024, "mel channels"),
    real<&O::low_freq>("low_freq", "Hz", 0, 384000, "lower end of the filter bank"),
    real<&O::high_freq>("high_freq", "Hz", 1, 384000, "upper end of the filter bank"),
    integer<&O::smoothing_bits>("smoothing_bits", 0, 16, "fractional bits of the noise estimate"),
    real<&O::even_smoothing>("even_smoothing", "", 0, 1,
                             "how fast the noise estimate follows, channels 0, 2, .."),
    real<&O::odd_smoothing>("odd_smoothing", "", 0, 1,
                            "how fast the noise estimate follows, channels 1, 3, .."),
    real<&O::min_signal_remaining>("min_signal_remaining", "", 0, 1,
                                   "least part of the signal that noise reduction leaves"),
    boolean<&O::enable_pcan>("enable_pcan", "per-channel amplitude normalisation"),
    real<&O::pcan_strength>("pcan_strength", "", 0, 4, "exponent of its gain, (noise + offset)^-strength"),
    real<&O::pcan_offset>("pcan_offset", "", 0.001, 1e9, "offset of its gain"),
    integer<&O::gain_bits>("gain_bits", 0, 31, "fractional bits of its gain"),
    boolean<&O::enable_log>("enable_log", "natural logarithm of the channels"),
    integer<&O::scale_shift>("scale_shift", 0, 16, "fractional bits of the logarithm"),
};

}  // namespace runnel::features::microfrontend_table
