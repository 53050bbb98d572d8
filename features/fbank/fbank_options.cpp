#include "features/fbank/fbank_options.h"

#include "features/fbank/fbank_parameter_table.h"
#include "features/fft/fft_tables.h"

namespace runnel::features {
namespace {

// Checks the memory of frames that wait for the recording's maximum.
Status check_held(const FbankOptions& o, std::size_t values) noexcept {
  constexpr std::int64_t kMax = std::int64_t{1} << 28;
  if (o.log_max != LogMax::global || o.max_frames <= kMax / static_cast<std::int64_t>(values + 32))
    return Status();
  return Status(Code::invalid_argument)
         << "max_frames " << o.max_frames << ": expected 1 to "
         << kMax / static_cast<std::int64_t>(values + 32) << " frames of " << values << " values";
}

}  // namespace

Result<FbankShape> shape_of(const FbankOptions& o) noexcept {
  for (const Parameter& parameter : parameters()) RUNNEL_TRY(check(parameter, o));
  const FbankShape shape = unchecked_shape_of(o);
  if (shape.grid.length < 2) {
    return Status(Code::invalid_argument) << (o.win_length > 0 ? "win_length: " : "frame_length: ")
                                          << shape.grid.length << " samples, expected at least 2";
  }
  if (shape.grid.shift < 1)
    return Status(Code::invalid_argument, "frame_shift: less than one sample, expected at least 1");
  const auto length = static_cast<std::size_t>(shape.grid.length);
  if (shape.fft_size < length && o.long_frames == LongFrames::refuse) {
    return Status(Code::invalid_argument) << "n_fft " << o.n_fft << ": expected at least the frame length, "
                                          << length << " samples, or long_frames=cut";
  }
  if (shape.fft_size > kMaxFftSize) {
    return Status(Code::invalid_argument)
           << "frame_length gives an FFT size of " << shape.fft_size << ": expected at most " << kMaxFftSize;
  }
  if (o.kind == FeatureKind::spectrogram || o.kind == FeatureKind::stft) {
    RUNNEL_TRY(check_held(o, shape.dims));
    return shape;
  }
  if (o.kind == FeatureKind::mfcc && o.num_ceps > o.num_mel_bins) {
    return Status(Code::invalid_argument)
           << "num_ceps " << o.num_ceps << ": expected 1 to num_mel_bins, " << o.num_mel_bins;
  }
  RUNNEL_TRY(check_held(o, static_cast<std::size_t>(o.num_mel_bins)));
  return shape;
}

std::span<const Parameter> parameters() noexcept { return fbank_table::kParameters; }

Status set(FbankOptions& options, std::string_view name, std::string_view value) noexcept {
  return set_by_name(parameters(), options, name, value);
}

void append_value(Text& text, const Parameter& parameter, const FbankOptions& options) noexcept {
  append_value(text, parameter, parameter.get(options));
}

}  // namespace runnel::features
