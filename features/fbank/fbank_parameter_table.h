// Table of the float front end's options, for compile-time tables. All other code uses fbank_parameters.h.
#pragma once

#include "features/fbank/fbank_parameters.h"

namespace runnel::features::fbank_table {

using O = FbankOptions;
inline constexpr Parameter kParameters[] = {
    choice<&O::kind>("kind", "fbank|mfcc|spectrogram|stft",
                     "mel energies; cepstral coefficients made of them; all bins; complex spectrum (real "
                     "parts, then imaginary)"),
    real<&O::sample_frequency>("sample_frequency", "Hz", 10, 768000, "rate of the samples"),
    real<&O::frame_length>("frame_length", "ms", 0.01, 100000,
                           "length of a frame; rounded down to whole samples"),
    real<&O::frame_shift>("frame_shift", "ms", 0.01, 100000,
                          "distance of frames; rounded down to whole samples"),
    integer<&O::win_length>("win_length", 0, 1048576, "length of a frame in samples; 0: from frame_length"),
    integer<&O::hop_length>("hop_length", 0, 16777216, "distance of frames in samples; 0: from frame_shift"),
    boolean<&O::snip_edges>("snip_edges", "only frames that lie wholly inside; false: one frame per shift"),
    boolean<&O::center>("center", "frames centred on multiples of the shift, as in torch.stft and librosa"),
    choice<&O::pad_mode>("pad_mode", "mirror|reflect|zero",
                         "outside of the recording: edge samples repeated, not repeated, or zeros"),
    boolean<&O::drop_last_frame>("drop_last_frame", "with center: without the last frame, as Whisper"),
    choice<&O::scale>("scale", "unit|int16",
                      "range in which the recipe sees samples: [-1, 1) or [-32768, 32767]"),
    real<&O::dither>("dither", "", 0, 10000,
                     "standard deviation of added noise, in the range of scale; 0: none"),
    integer<&O::seed>("seed", 0, 2147483647,
                      "of the noise: the same seed gives the same noise for the same frame"),
    boolean<&O::remove_dc_offset>("remove_dc_offset", "subtract the mean of each frame"),
    real<&O::preemphasis_coefficient>("preemphasis_coefficient", "", 0, 1, "c in x[i] - c x[i-1]"),
    choice<&O::window_type>("window_type", "povey|hamming|hanning|hann|blackman|sine|rectangular|sqrt_hann",
                            "hanning is symmetric, hann and sqrt_hann periodic"),
    real<&O::blackman_coeff>("blackman_coeff", "", 0, 1, "constant term of the blackman window"),
    boolean<&O::round_to_power_of_two>("round_to_power_of_two",
                                       "pad frames with zeros to the next power of two"),
    integer<&O::n_fft>("n_fft", 0, 1048576, "FFT size; 0: from the frame length"),
    choice<&O::long_frames>("long_frames", "refuse|cut",
                            "frames longer than n_fft: an error, or cut to n_fft samples"),
    boolean<&O::normalize_power>("normalize_power", "power divided by the FFT size"),
    choice<&O::fft>("fft", "own|fftw", "own: same bits everywhere; fftw: FFTW, hosts only, GPL"),
    boolean<&O::use_power>("use_power", "power spectrum; false: magnitude (not mfcc)"),
    integer<&O::num_mel_bins>("num_mel_bins", 1, 4096, "mel filters"),
    real<&O::low_freq>("low_freq", "Hz", 0, 384000, "lower end of the mel bank"),
    real<&O::high_freq>("high_freq", "Hz", -384000, 384000,
                        "upper end; 0 and below: relative to half the sample frequency"),
    choice<&O::mel_scale>("mel_scale", "htk|slaney", "1127 ln(1 + f/700), or linear below 1 kHz"),
    choice<&O::mel_norm>("mel_norm", "none|slaney",
                         "triangles of height 1, or divided by half their width in Hz"),
    choice<&O::mel_shape>(
        "mel_shape", "mel|hz|bins|half_bins",
        "sides straight in mel (Kaldi), in Hz (librosa), or with corners on bins (Edge Impulse from "
        "version 4; before)"),
    choice<&O::empty_filters>("empty_filters", "refuse|floor",
                              "a mel filter without FFT bins: an error, or always the floor"),
    boolean<&O::htk_mode>("htk_mode", "mel energies are at least 1"),
    boolean<&O::use_log_fbank>("use_log_fbank", "logarithm of energies (mfcc: always)"),
    choice<&O::log_type>("log_type", "ln|log10|db", "natural, decimal, or 10 log10"),
    real<&O::log_floor>("log_floor", "", 1.2e-38, 1e30, "least energy of the logarithm"),
    choice<&O::log_max>(
        "log_max", "none|global|running|fixed",
        "logarithms are at least log_max_range below the largest of the recording (then all frames come at "
        "its end), the largest so far, or log_max_value"),
    real<&O::log_max_value>("log_max_value", "", -1e6, 1e6, "with log_max=fixed"),
    real<&O::log_max_range>("log_max_range", "", 0, 1e6, "with log_max: in the unit of log_type"),
    integer<&O::max_frames>("max_frames", 1, 16777216, "log_max=global: frames of the longest recording"),
    boolean<&O::use_energy>("use_energy",
                            "log energy of the frame: one more value (fbank), in place of C0 (mfcc) or of "
                            "the first bin (spectrogram)"),
    boolean<&O::raw_energy>("raw_energy", "energy before pre-emphasis and window"),
    choice<&O::energy_source>("energy_source", "samples|spectrum",
                              "energy of the samples, or sum of the power spectrum"),
    real<&O::energy_floor>("energy_floor", "", 0, 1e30, "least energy; 0: 1.1920929e-7"),
    boolean<&O::htk_compat>("htk_compat", "energy or C0 last; C0 times sqrt(2)"),
    integer<&O::num_ceps>("num_ceps", 1, 4096, "cepstral coefficients, C0 included (mfcc only)"),
    real<&O::cepstral_lifter>("cepstral_lifter", "", 0, 10000,
                              "Q in 1 + Q/2 sin(pi k / Q); 0: none (mfcc only)"),
    real<&O::output_offset>("output_offset", "", -1e6, 1e6, "added to every value"),
    real<&O::output_scale>("output_scale", "", -1e6, 1e6, "then multiplied"),
    integer<&O::output_steps>("output_steps", 0, 16777216,
                              "then rounded to multiples of 1/output_steps; 0: not"),
    boolean<&O::output_limit>("output_limit", "then limited to 0 .. 1"),
    choice<&O::non_finite>("non_finite", "zero|error",
                           "samples that are infinite or not a number: read as 0, or refused"),
};

}  // namespace runnel::features::fbank_table
