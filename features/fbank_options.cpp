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

}  // namespace

Result<FbankShape> shape_of(const FbankOptions& o) noexcept {
  for (const Parameter& parameter : parameters()) RUNNEL_TRY(check(parameter, o));
  FbankShape shape;
  shape.grid = {.length = samples_of(o.sample_frequency, o.frame_length),
                .shift = samples_of(o.sample_frequency, o.frame_shift),
                .mirror_edges = !o.snip_edges};
  if (shape.grid.length < 2) {
    return Status(Code::invalid_argument)
           << "frame_length: " << shape.grid.length << " samples, expected at least 2";
  }
  if (shape.grid.shift < 1)
    return Status(Code::invalid_argument, "frame_shift: less than one sample, expected at least 1");
  const auto length = static_cast<std::size_t>(shape.grid.length);
  shape.fft_size = length;
  if (o.n_fft > 0) {
    shape.fft_size = static_cast<std::size_t>(o.n_fft);
    if (shape.fft_size < length) {
      return Status(Code::invalid_argument)
             << "n_fft " << o.n_fft << ": expected at least the frame length, " << length << " samples";
    }
  } else if (o.round_to_power_of_two) {
    for (shape.fft_size = 2; shape.fft_size < length;) shape.fft_size *= 2;
  }
  if (shape.fft_size % 2 != 0 || shape.fft_size > kMaxFftSize) {
    return Status(Code::invalid_argument)
           << (o.n_fft > 0 ? "n_fft" : "frame_length gives an FFT size of") << " " << shape.fft_size
           << ": expected an even number up to " << kMaxFftSize;
  }
  const float nyquist = o.sample_frequency / 2;
  shape.mel = {.filters = o.num_mel_bins,
               .low_hz = o.low_freq,
               .high_hz = o.high_freq > 0 ? o.high_freq : nyquist + o.high_freq,
               .rate_hz = o.sample_frequency,
               .fft_size = shape.fft_size,
               .allow_empty = o.empty_filters == EmptyFilters::floor};
  if (o.kind == FeatureKind::mfcc && o.num_ceps > o.num_mel_bins) {
    return Status(Code::invalid_argument)
           << "num_ceps " << o.num_ceps << ": expected 1 to num_mel_bins, " << o.num_mel_bins;
  }
  shape.dims = o.kind == FeatureKind::mfcc
                   ? static_cast<std::size_t>(o.num_ceps)
                   : static_cast<std::size_t>(o.num_mel_bins) + (o.use_energy ? 1 : 0);
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
