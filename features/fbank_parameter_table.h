// The options of the float front end one by one, for tables made of them at compile time. Everybody else uses fbank_parameters.h.
#pragma once

#include "features/fbank_parameters.h"

namespace runnel::features::fbank_table {

using O = FbankOptions;
inline constexpr Parameter kParameters[] = {
    choice<&O::kind>("kind", "fbank|mfcc", "log-mel energies, or cepstral coefficients made of them"),
    real<&O::sample_frequency>("sample_frequency", "Hz", 10, 768000, "rate of the samples"),
    real<&O::frame_length>("frame_length", "ms", 0.01, 100000,
                           "length of a frame; rounded down to whole samples"),
    real<&O::frame_shift>("frame_shift", "ms", 0.01, 100000,
                          "distance of frames; rounded down to whole samples"),
    boolean<&O::snip_edges>("snip_edges",
                            "only frames that lie wholly inside; false: one frame per shift, edges mirrored"),
    choice<&O::scale>("scale", "unit|int16",
                      "range in which the recipe sees samples: [-1, 1) or [-32768, 32767]"),
    real<&O::dither>("dither", "", 0, 10000,
                     "standard deviation of added noise, in the range of scale; 0: none"),
    integer<&O::seed>("seed", 0, 2147483647,
                      "of the noise: the same seed gives the same noise for the same frame"),
    boolean<&O::remove_dc_offset>("remove_dc_offset", "subtract the mean of each frame"),
    real<&O::preemphasis_coefficient>("preemphasis_coefficient", "", 0, 1, "c in x[i] - c x[i-1]"),
    choice<&O::window_type>("window_type", "povey|hamming|hanning|hann|blackman|sine|rectangular",
                            "hanning is symmetric, hann periodic"),
    real<&O::blackman_coeff>("blackman_coeff", "", 0, 1, "constant term of the blackman window"),
    boolean<&O::round_to_power_of_two>("round_to_power_of_two",
                                       "pad frames with zeros to the next power of two"),
    integer<&O::n_fft>("n_fft", 0, 1048576, "FFT size, even; 0: from the frame length"),
    choice<&O::fft>("fft", "own|fftw", "own: same bits everywhere; fftw: FFTW, hosts only, GPL"),
    boolean<&O::use_power>("use_power", "power spectrum; false: magnitude (fbank only)"),
    integer<&O::num_mel_bins>("num_mel_bins", 1, 4096, "mel filters"),
    real<&O::low_freq>("low_freq", "Hz", 0, 384000, "lower end of the mel bank"),
    real<&O::high_freq>("high_freq", "Hz", -384000, 384000,
                        "upper end; 0 and below: relative to half the sample frequency"),
    choice<&O::empty_filters>("empty_filters", "refuse|floor",
                              "a mel filter without FFT bins: an error, or always the floor"),
    boolean<&O::htk_mode>("htk_mode", "mel energies are at least 1"),
    boolean<&O::use_log_fbank>("use_log_fbank", "natural logarithm of mel energies (fbank only)"),
    boolean<&O::use_energy>("use_energy",
                            "log energy of the frame: one more value (fbank), or in place of C0 (mfcc)"),
    boolean<&O::raw_energy>("raw_energy", "energy before pre-emphasis and window"),
    real<&O::energy_floor>("energy_floor", "", 0, 1e30, "least energy; 0: 1.1920929e-7"),
    boolean<&O::htk_compat>("htk_compat", "energy or C0 last; C0 times sqrt(2)"),
    integer<&O::num_ceps>("num_ceps", 1, 4096, "cepstral coefficients, C0 included (mfcc only)"),
    real<&O::cepstral_lifter>("cepstral_lifter", "", 0, 10000,
                              "Q in 1 + Q/2 sin(pi k / Q); 0: none (mfcc only)"),
    choice<&O::non_finite>("non_finite", "zero|error",
                           "samples that are infinite or not a number: read as 0, or refused"),
};

}  // namespace runnel::features::fbank_table
