#include "features/fbank/mel_bank.h"

namespace runnel::features {

Status check_mel(const MelSpec& spec) noexcept {
  const auto half = static_cast<std::int32_t>(spec.bins());
  if (spec.filters < 1 || spec.filters > half) {
    return Status(Code::invalid_argument) << "num_mel_bins " << spec.filters << ": expected 1 to " << half
                                          << ", half the FFT size " << spec.fft_size;
  }
  const double nyquist = spec.rate_hz / 2;
  const auto whole = [](double v) { return static_cast<std::int64_t>(v < 0 ? v - 0.5 : v + 0.5); };
  if (!(spec.low_hz >= 0 && spec.low_hz < nyquist)) {
    return Status(Code::invalid_argument)
           << "low_freq " << whole(spec.low_hz) << " Hz: expected 0 up to below " << whole(nyquist)
           << " Hz, half the sample frequency";
  }
  if (!(spec.high_hz > spec.low_hz && spec.high_hz <= nyquist)) {
    return Status(Code::invalid_argument)
           << "high_freq " << whole(spec.high_hz) << " Hz: expected above low_freq " << whole(spec.low_hz)
           << " Hz and at most " << whole(nyquist) << " Hz, half the sample frequency";
  }
  if (spec.allow_empty) return Status();
  for (std::int32_t b = 0; b < spec.filters; ++b) {
    const Triangle triangle = triangle_of(spec, b);
    if (!triangle.is_empty(spec)) continue;
    return Status(Code::invalid_argument)
           << "num_mel_bins " << spec.filters << ": filter " << b << ", " << whole(mel::corner_hz(spec, b))
           << " to " << whole(mel::corner_hz(spec, b + 2)) << " Hz, holds no bin of the FFT of size "
           << spec.fft_size << " (one each " << whole(spec.rate_hz / static_cast<double>(spec.fft_size))
           << " Hz); use fewer mel bins, a longer FFT or a higher low_freq, or set empty_filters=floor";
  }
  return Status();
}

std::size_t MelBank::memory_bytes(const MelSpec& spec, std::int32_t lanes) noexcept {
  if (!check_mel(spec).ok()) return 0;
  const MelRowSizes sizes = mel_row_sizes(spec, lanes);
  return (sizes.weights + sizes.integers()) * sizeof(float);
}

Status MelBank::init(const MelSpec& spec, std::int32_t lanes, Memory& memory) noexcept {
  RUNNEL_TRY(check_mel(spec));
  const MelRowSizes sizes = mel_row_sizes(spec, lanes);
  const std::size_t bytes = (sizes.weights + sizes.integers()) * sizeof(float);
  static_assert(sizeof(float) == sizeof(std::int32_t));
  auto* block = static_cast<std::byte*>(memory.allocate(bytes, 64));
  if (block == nullptr) return Status(Code::out_of_memory) << "mel bank: needs " << bytes << " bytes";
  auto* weights = new (block) float[sizes.weights > 0 ? sizes.weights : 1]();
  auto* integers = new (block + sizes.weights * sizeof(float)) std::int32_t[sizes.integers()];
  fill_mel_rows(spec, lanes, weights, integers);
  init(spec, lanes, weights, integers);
  return Status();
}

}  // namespace runnel::features
