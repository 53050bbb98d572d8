#include "features/microfrontend/microfrontend_options.h"

#include "features/microfrontend/fixed_fft.h"
#include "features/microfrontend/microfrontend_parameter_table.h"
#include "features/microfrontend/microfrontend_presets.h"

namespace runnel::features {
namespace {

constexpr int kSnrBits = 12;

}  // namespace

std::span<const MicrofrontendParameter> microfrontend_parameters() noexcept {
  return microfrontend_table::kParameters;
}

Status set(MicrofrontendOptions& options, std::string_view name, std::string_view value) noexcept {
  return set_by_name(microfrontend_parameters(), options, name, value);
}

std::span<const MicrofrontendPreset> microfrontend_presets() noexcept {
  return microfrontend_table::kPresets;
}

Result<MicrofrontendOptions> microfrontend_preset(std::string_view name) noexcept {
  return find_preset(microfrontend_presets(), name);
}

Result<MicrofrontendShape> shape_of(const MicrofrontendOptions& o) noexcept {
  for (const MicrofrontendParameter& parameter : microfrontend_parameters()) RUNNEL_TRY(check(parameter, o));
  const MicrofrontendShape shape = unchecked_shape_of(o);
  constexpr auto kLongest = static_cast<std::int64_t>(FixedFft::kMax);
  if (shape.grid.length < 2 || shape.grid.length > kLongest) {
    return Status(Code::invalid_argument)
           << "frame_length: " << shape.grid.length << " samples, expected 2 to " << kLongest;
  }
  if (shape.grid.shift < 1)
    return Status(Code::invalid_argument, "frame_shift: less than one sample, expected at least 1");
  if (!(o.high_freq > o.low_freq) || o.high_freq > o.sample_frequency / 2) {
    return Status(Code::invalid_argument)
           << "high_freq: expected more than low_freq and at most half of sample_frequency";
  }
  if (o.enable_pcan && o.gain_bits < shape.correction_bits + kSnrBits) {
    return Status(Code::invalid_argument)
           << "gain_bits=" << o.gain_bits << ": expected " << shape.correction_bits + kSnrBits
           << " to 31 for an FFT of " << shape.fft_size << " points";
  }
  if (o.enable_pcan && o.smoothing_bits < shape.correction_bits) {
    return Status(Code::invalid_argument)
           << "smoothing_bits=" << o.smoothing_bits << ": expected " << shape.correction_bits
           << " to 16 for an FFT of " << shape.fft_size << " points";
  }
  return shape;
}

}  // namespace runnel::features
