#include "features/fbank_options.h"

#include "features/fbank_parameter_table.h"
#include "features/fft.h"

namespace runnel::features {
namespace {

// Kaldi's arithmetic; the parentheses are part of it.
std::int64_t samples_of(float rate, float milliseconds) noexcept {
  const float per_ms = rate * 0.001F;
  return static_cast<std::int64_t>(per_ms * milliseconds);
}

// Frames that wait for the recording's maximum.
Status check_held(const FbankOptions& o, std::size_t values) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 28;
  if (o.log_max != LogMax::global || o.max_frames <= kMost / static_cast<std::int64_t>(values + 32)) return Status();
  return Status(Code::invalid_argument) << "max_frames " << o.max_frames << ": expected 1 to "
                                        << kMost / static_cast<std::int64_t>(values + 32) << " frames of " << values << " values";
}

}  // namespace

Result<FbankShape> shape_of(const FbankOptions& o) noexcept {
  for (const Parameter& parameter : parameters()) RUNNEL_TRY(check(parameter, o));
  FbankShape shape;
  const bool centred = o.center;
  shape.grid = {.length = o.win_length > 0 ? o.win_length : samples_of(o.sample_frequency, o.frame_length),
                .shift = o.hop_length > 0 ? o.hop_length : samples_of(o.sample_frequency, o.frame_shift),
                .placement = centred        ? FramePlacement::centred
                             : o.snip_edges ? FramePlacement::inside
                                            : FramePlacement::shifts,
                .padding = o.pad_mode,
                .size = 0,
                .drop_last = centred && o.drop_last_frame};
  if (shape.grid.length < 2) {
    return Status(Code::invalid_argument)
           << (o.win_length > 0 ? "win_length: " : "frame_length: ") << shape.grid.length << " samples, expected at least 2";
  }
  if (shape.grid.shift < 1)
    return Status(Code::invalid_argument, "frame_shift: less than one sample, expected at least 1");
  const auto length = static_cast<std::size_t>(shape.grid.length);
  shape.fft_size = length;
  if (o.n_fft > 0) {
    shape.fft_size = static_cast<std::size_t>(o.n_fft);
    if (shape.fft_size < length && o.long_frames == LongFrames::refuse) {
      return Status(Code::invalid_argument)
             << "n_fft " << o.n_fft << ": expected at least the frame length, " << length << " samples, or long_frames=cut";
    }
  } else if (o.round_to_power_of_two) {
    for (shape.fft_size = 2; shape.fft_size < length;) shape.fft_size *= 2;
  }
  if (shape.fft_size > kMaxFftSize) {
    return Status(Code::invalid_argument)
           << "frame_length gives an FFT size of " << shape.fft_size << ": expected at most " << kMaxFftSize;
  }
  shape.used = length < shape.fft_size ? length : shape.fft_size;
  if (centred && shape.fft_size > length) shape.grid.size = static_cast<std::int64_t>(shape.fft_size);
  if (o.kind == FeatureKind::spectrogram || o.kind == FeatureKind::stft) {
    shape.dims = (o.kind == FeatureKind::stft ? 2 : 1) * shape.spectrum();
    RUNNEL_TRY(check_held(o, shape.dims));
    return shape;
  }
  const float nyquist = o.sample_frequency / 2;
  shape.mel = {.filters = o.num_mel_bins,
               .low_hz = o.low_freq,
               .high_hz = o.high_freq > 0 ? o.high_freq : nyquist + o.high_freq,
               .rate_hz = o.sample_frequency,
               .fft_size = shape.fft_size,
               .allow_empty = o.empty_filters == EmptyFilters::floor,
               .scale = o.mel_scale,
               .norm = o.mel_norm,
               .shape = o.mel_shape};
  if (o.kind == FeatureKind::mfcc && o.num_ceps > o.num_mel_bins) {
    return Status(Code::invalid_argument)
           << "num_ceps " << o.num_ceps << ": expected 1 to num_mel_bins, " << o.num_mel_bins;
  }
  shape.dims = o.kind == FeatureKind::mfcc
                   ? static_cast<std::size_t>(o.num_ceps)
                   : static_cast<std::size_t>(o.num_mel_bins) + (o.use_energy ? 1 : 0);
  RUNNEL_TRY(check_held(o, static_cast<std::size_t>(o.num_mel_bins)));
  return shape;
}

std::span<const Parameter> parameters() noexcept {
  return fbank_table::kParameters;
}

Status set(FbankOptions& options, std::string_view name, std::string_view value) noexcept {
  return set_by_name(parameters(), options, name, value);
}

void append_value(Text& text, const Parameter& parameter, const FbankOptions& options) noexcept {
  append_value(text, parameter, parameter.get(options));
}

}  // namespace runnel::features
