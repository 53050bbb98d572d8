#include "features/fbank_parameters.h"

namespace runnel::features {
namespace {

// Every field is written out: a preset must not move when a default does.
constexpr FbankOptions kKaldi{.kind = FeatureKind::fbank,
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

template <class Change>
constexpr FbankOptions changed(FbankOptions options, Change change) {
  change(options);
  return options;
}

constexpr Preset kPresets[] = {
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
    {"wenet", "WeNet: 80 bins, int16 range",
     changed(kKaldi,
             [](FbankOptions& o) {
               o.num_mel_bins = 80;
             })},
    {"espdl", "ESP-DL: 26 bins, 80 Hz to Nyquist, hanning",
     changed(kKaldi,
             [](FbankOptions& o) {
               o.num_mel_bins = 26;
               o.low_freq = 80;
               o.window_type = WindowType::hanning;
               o.scale = SampleScale::unit;
             })},
    {"torchaudio-kaldi", "torchaudio.compliance.kaldi: as kaldi; its MFCC keep C0, samples in [-1, 1)",
     changed(kKaldi, [](FbankOptions& o) { o.scale = SampleScale::unit; })},
};

}  // namespace

std::span<const Preset> presets() noexcept {
  return kPresets;
}

Result<FbankOptions> preset(std::string_view name) noexcept {
  return find_preset(presets(), name);
}

}  // namespace runnel::features
