// Presets of the float front end as constants, for compile-time tables (fbank_tables.h):
//
//     struct Mine {
//       static constexpr FbankOptions kOptions =
//           changed(constant_preset("kaldi"), [](FbankOptions& o) { o.num_mel_bins = 40; });
//     };
#pragma once

#include <string_view>

#include "features/fbank/fbank_parameters.h"

namespace runnel::features {

// `options` after `change(options)`.
template <class Change>
constexpr FbankOptions changed(FbankOptions options, Change change) {
  change(options);
  return options;
}

namespace fbank_table {

// Every field is written out: a preset must not change when a default does.
inline constexpr FbankOptions kKaldi{.kind = FeatureKind::fbank,
                                     .sample_frequency = 16000,
                                     .frame_length = 25,
                                     .frame_shift = 10,
                                     .win_length = 0,
                                     .hop_length = 0,
                                     .snip_edges = true,
                                     .center = false,
                                     .pad_mode = Padding::mirror,
                                     .drop_last_frame = false,
                                     .scale = SampleScale::int16,
                                     .dither = 0,
                                     .seed = 0,
                                     .remove_dc_offset = true,
                                     .preemphasis_coefficient = 0.97F,
                                     .window_type = WindowType::povey,
                                     .blackman_coeff = 0.42F,
                                     .round_to_power_of_two = true,
                                     .n_fft = 0,
                                     .long_frames = LongFrames::refuse,
                                     .normalize_power = false,
                                     .fft = FftChoice::own,
                                     .use_power = true,
                                     .num_mel_bins = 23,
                                     .low_freq = 20,
                                     .high_freq = 0,
                                     .mel_scale = MelScale::htk,
                                     .mel_norm = MelNorm::none,
                                     .mel_shape = MelShape::mel,
                                     .empty_filters = EmptyFilters::refuse,
                                     .htk_mode = false,
                                     .use_log_fbank = true,
                                     .log_type = LogType::ln,
                                     .log_floor = 1.1920929e-7F,
                                     .log_max = LogMax::none,
                                     .log_max_value = 0,
                                     .log_max_range = 8,
                                     .max_frames = 3000,
                                     .use_energy = false,
                                     .raw_energy = true,
                                     .energy_source = EnergySource::samples,
                                     .energy_floor = 0,
                                     .htk_compat = false,
                                     .num_ceps = 13,
                                     .cepstral_lifter = 22,
                                     .output_offset = 0,
                                     .output_scale = 1,
                                     .output_steps = 0,
                                     .output_limit = false,
                                     .non_finite = NonFinite::zero};

inline constexpr FbankOptions kTorchaudio = changed(kKaldi, [](FbankOptions& o) {
  o.win_length = 400;
  o.hop_length = 200;
  o.center = true;
  o.pad_mode = Padding::reflect;
  o.scale = SampleScale::unit;
  o.remove_dc_offset = false;
  o.preemphasis_coefficient = 0;
  o.window_type = WindowType::hann;
  o.n_fft = 400;
  o.num_mel_bins = 128;
  o.low_freq = 0;
  o.mel_shape = MelShape::hz;
  // 400 points cannot resolve 128 bins on the HTK scale; torchaudio warns and gives zeros.
  o.empty_filters = EmptyFilters::floor;
  o.use_log_fbank = false;
});

inline constexpr FbankOptions kEdgeImpulse = changed(kKaldi, [](FbankOptions& o) {
  o.frame_length = 20;
  o.scale = SampleScale::unit;
  o.remove_dc_offset = false;
  o.preemphasis_coefficient = 0;  // over the whole stream, before
  o.window_type = WindowType::rectangular;
  o.n_fft = 256;
  o.long_frames = LongFrames::cut;
  o.normalize_power = true;
  o.num_mel_bins = 32;
  o.low_freq = 300;
  o.mel_shape = MelShape::bins;
  o.log_type = LogType::db;
  o.log_floor = 1e-30F;
  o.output_offset = 52;
  o.output_scale = 1.0F / 64;
  o.output_steps = 256;
  o.output_limit = true;
});

inline constexpr Preset kPresets[] = {
    {"kaldi", "Kaldi fbank: 23 bins, 20 Hz to Nyquist, int16 range", kKaldi},
    {"kaldi80", "Kaldi fbank with 80 bins", changed(kKaldi, [](FbankOptions& o) { o.num_mel_bins = 80; })},
    {"kaldi-mfcc", "Kaldi MFCC: 13 coefficients, energy in place of C0",
     changed(kKaldi,
             [](FbankOptions& o) {
               o.kind = FeatureKind::mfcc;
               o.use_energy = true;
             })},
    {"zipformer", "sherpa-onnx and icefall: 80 bins, 20 to 7600 Hz, one frame per 10 ms",
     changed(kKaldi,
             [](FbankOptions& o) {
               o.num_mel_bins = 80;
               o.high_freq = -400;
               o.snip_edges = false;
               o.scale = SampleScale::unit;
             })},
    {"wenet", "WeNet: 80 bins, int16 range", changed(kKaldi, [](FbankOptions& o) { o.num_mel_bins = 80; })},
    {"paraformer",
     "FunASR Paraformer: as wenet with a hamming window, seven frames stacked every six; then the model's "
     "own cmvn",
     changed(kKaldi,
             [](FbankOptions& o) {
               o.num_mel_bins = 80;
               o.window_type = WindowType::hamming;
             }),
     "", "stack frames=7 step=6"},
    {"espdl", "ESP-DL: 26 bins, 80 Hz to Nyquist, hanning",
     changed(kKaldi,
             [](FbankOptions& o) {
               o.num_mel_bins = 26;
               o.low_freq = 80;
               o.window_type = WindowType::hanning;
               o.scale = SampleScale::unit;
             })},
    {"espdl-spectrogram",
     "ESP-DL's spectrogram: ln of the power of all bins, log energy in place of the first",
     changed(kKaldi,
             [](FbankOptions& o) {
               o.kind = FeatureKind::spectrogram;
               o.window_type = WindowType::hanning;
               o.scale = SampleScale::unit;
               o.use_energy = true;
             })},
    {"torchaudio-spectrogram",
     "torchaudio.compliance.kaldi.spectrogram: ln of the power of all bins, log energy (at least 0) in place "
     "of the first",
     changed(kKaldi,
             [](FbankOptions& o) {
               o.kind = FeatureKind::spectrogram;
               o.scale = SampleScale::unit;
               o.use_energy = true;
               o.energy_floor = 1;
             })},
    {"torchaudio-kaldi", "torchaudio.compliance.kaldi: as kaldi; its MFCC keep C0, samples in [-1, 1)",
     changed(kKaldi, [](FbankOptions& o) { o.scale = SampleScale::unit; })},
    {"torchaudio", "torchaudio MelSpectrogram with its defaults: 128 HTK bins, power, linear", kTorchaudio},
    {"torchaudio-mfcc",
     "torchaudio MFCC with n_fft 400, hop 160, 23 bins: dB limited to 80 below the recording's maximum",
     changed(kTorchaudio,
             [](FbankOptions& o) {
               o.kind = FeatureKind::mfcc;
               o.hop_length = 160;
               o.num_mel_bins = 23;
               o.empty_filters = EmptyFilters::refuse;
               o.use_log_fbank = true;
               o.log_type = LogType::db;
               o.log_floor = 1e-10F;
               o.log_max = LogMax::global;
               o.log_max_range = 80;
               o.cepstral_lifter = 0;
             })},
    {"whisper",
     "OpenAI Whisper: 80 slaney bins (large-v3: num_mel_bins=128), log10 limited to 8 below the recording's "
     "maximum",
     changed(kTorchaudio,
             [](FbankOptions& o) {
               o.hop_length = 160;
               o.drop_last_frame = true;
               o.num_mel_bins = 80;
               o.mel_scale = MelScale::slaney;
               o.mel_norm = MelNorm::slaney;
               o.empty_filters = EmptyFilters::refuse;
               o.use_log_fbank = true;
               o.log_type = LogType::log10;
               o.log_floor = 1e-10F;
               o.log_max = LogMax::global;
               o.log_max_range = 8;
               o.output_offset = 4;
               o.output_scale = 0.25F;
             })},
    {"librosa", "librosa.feature.melspectrogram with its defaults: 22050 Hz, 128 slaney bins, power, linear",
     changed(kTorchaudio,
             [](FbankOptions& o) {
               o.sample_frequency = 22050;
               o.win_length = 2048;
               o.hop_length = 512;
               o.n_fft = 2048;
               o.pad_mode = Padding::zero;
               o.mel_scale = MelScale::slaney;
               o.mel_norm = MelNorm::slaney;
               o.empty_filters = EmptyFilters::refuse;
             })},
    {"slaney40", "40 slaney bins, 400 samples in the middle of 512, hop 160, power, linear",
     changed(kTorchaudio,
             [](FbankOptions& o) {
               o.hop_length = 160;
               o.n_fft = 512;
               o.num_mel_bins = 40;
               o.mel_scale = MelScale::slaney;
               o.mel_norm = MelNorm::slaney;
               o.empty_filters = EmptyFilters::refuse;
             })},
    {"edge-impulse-mfe",
     "Edge Impulse MFE, version 4: dB over a noise floor of -52 dB, 0 to 1 in steps of 1/256", kEdgeImpulse,
     "preemphasis coefficient=0.98", ""},
    {"edge-impulse-mfe-v3",
     "Edge Impulse MFE, version 3: as version 4 with triangles on the bins of half the transform",
     changed(kEdgeImpulse, [](FbankOptions& o) { o.mel_shape = MelShape::half_bins; }),
     "preemphasis coefficient=0.98", ""},
    {"edge-impulse-mfe-v2",
     "Edge Impulse MFE before version 3: energies minus their means over 101 frames, least and largest value "
     "to 0 and 1",
     changed(kEdgeImpulse,
             [](FbankOptions& o) {
               o.scale = SampleScale::int16;
               o.mel_shape = MelShape::half_bins;
               o.use_log_fbank = false;
               o.output_offset = 0;
               o.output_scale = 1;
               o.output_steps = 0;
               o.output_limit = false;
             }),
     "", "cmvn mode=mirror window=101 variance=false ! cmvn mode=range"},
    {"edge-impulse-mfcc", "Edge Impulse MFCC: log energy in place of C0, normalised over 101 frames",
     changed(kEdgeImpulse,
             [](FbankOptions& o) {
               o.kind = FeatureKind::mfcc;
               o.frame_shift = 20;
               o.scale = SampleScale::int16;
               o.log_type = LogType::ln;
               o.log_floor = 1e-10F;
               o.use_energy = true;
               o.energy_source = EnergySource::spectrum;
               o.cepstral_lifter = 0;
               o.output_offset = 0;
               o.output_scale = 1;
               o.output_steps = 0;
               o.output_limit = false;
             }),
     "preemphasis coefficient=0.98", "cmvn mode=mirror window=101"},
};

}  // namespace fbank_table

void there_is_no_such_preset();  // not defined: the compiler names it in its error

// The preset of that name; an unknown name does not compile.
consteval FbankOptions constant_preset(std::string_view name) {
  for (const Preset& preset : fbank_table::kPresets) {
    if (preset.name == name) return preset.options;
  }
  there_is_no_such_preset();
  return {};
}

}  // namespace runnel::features
