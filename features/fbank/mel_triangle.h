// Triangles of a mel filter bank and their sparse rows, as constexpr functions. Weights are computed in
// double precision and rounded once, so that a bank is the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/exact_math_constant.h"

namespace runnel::features {

enum class MelScale : std::uint8_t {
  htk,     // 1127 ln(1 + hz / 700)
  slaney,  // 3 hz / 200 below 1000 Hz, then 15 + 27 ln(hz / 1000) / ln 6.4
};
enum class MelNorm : std::uint8_t {
  none,    // height 1
  slaney,  // divided by half the width in Hz
};
enum class MelShape : std::uint8_t {
  mel,   // straight in mel: Kaldi
  hz,    // straight in Hz: librosa, torchaudio, Whisper
  bins,  // corners on whole bins floor((n + 1) f / rate), n = FFT size, straight between them: Edge Impulse
  half_bins,  // the same with n = FFT size / 2 + 1: Edge Impulse before version 4, SpeechPy
};

constexpr double mel_of(double hz, MelScale scale = MelScale::htk) noexcept {
  constexpr double kStep = exact::constant::log(6.4);
  if (scale == MelScale::htk) return 1127.0 * exact::constant::log1p(hz / 700.0);
  return hz < 1000 ? hz * 3 / 200 : 15 + 27 * exact::constant::log(hz / 1000) / kStep;
}
constexpr double hz_of(double mel, MelScale scale = MelScale::htk) noexcept {
  constexpr double kStep = exact::constant::log(6.4);
  if (scale == MelScale::htk) return 700.0 * (exact::constant::exp(mel / 1127.0) - 1.0);
  return mel < 15 ? mel * 200 / 3 : 1000 * exact::constant::exp((mel - 15) * kStep / 27);
}

struct MelSpec {
  std::int32_t filters = 23;
  double low_hz = 20, high_hz = 8000;  // limits of the bank; 0 <= low < high <= rate / 2
  double rate_hz = 16000;
  std::size_t fft_size = 512;
  // A triangle without FFT bins: refused, or its energy is 0 (the output is then the log's floor).
  bool allow_empty = false;
  MelScale scale = MelScale::htk;
  MelNorm norm = MelNorm::none;
  MelShape shape = MelShape::mel;

  // Bins below the Nyquist frequency.
  [[nodiscard]] constexpr std::size_t bins() const noexcept { return (fft_size + 1) / 2; }
};

namespace mel {

constexpr bool on_bins(const MelSpec& spec) noexcept {
  return spec.shape == MelShape::bins || spec.shape == MelShape::half_bins;
}

constexpr double hz_of_bin(std::int32_t k, const MelSpec& spec) noexcept {
  return k * spec.rate_hz / static_cast<double>(spec.fft_size);
}

// Bin k on the axis of the triangles.
constexpr double place_of_bin(std::int32_t k, const MelSpec& spec) noexcept {
  if (on_bins(spec)) return k;
  return spec.shape == MelShape::hz ? hz_of_bin(k, spec) : mel_of(hz_of_bin(k, spec), spec.scale);
}

// In Hz; corner 0 is the lower end of the bank, corner filters + 1 the upper end.
constexpr double corner_hz(const MelSpec& spec, std::int32_t corner) noexcept {
  if (corner == 0) return spec.low_hz;
  if (corner == spec.filters + 1) return spec.high_hz;
  const double low = mel_of(spec.low_hz, spec.scale), high = mel_of(spec.high_hz, spec.scale);
  return hz_of(low + corner * ((high - low) / (spec.filters + 1)), spec.scale);
}

constexpr double corner_of(const MelSpec& spec, std::int32_t corner) noexcept {
  if (spec.shape == MelShape::mel) {
    const double low = mel_of(spec.low_hz, spec.scale);
    return low + corner * ((mel_of(spec.high_hz, spec.scale) - low) / (spec.filters + 1));
  }
  double hz = corner_hz(spec, corner);
  if (spec.shape == MelShape::hz) return hz;
  // The upper end is just below the bin that it would fall on, as in the implementations followed here.
  if (corner == spec.filters + 1) hz -= 0.001;
  const std::size_t bins = spec.shape == MelShape::bins ? spec.fft_size : spec.fft_size / 2 + 1;
  const double place = static_cast<double>(bins + 1) * hz / spec.rate_hz;
  return place > 0 ? static_cast<double>(static_cast<std::int64_t>(place)) : 0;
}

}  // namespace mel

// One triangle of a bank: its corners on the axis where its sides are straight, and the bins
// inside, [first, last).
struct Triangle {
  double left, centre, right;
  std::int32_t first, last;

  [[nodiscard]] constexpr std::int32_t bins() const noexcept { return last - first; }
  // Weight of bin k, first <= k < last: above 0, and 1 at the peak.
  [[nodiscard]] constexpr double weight(std::int32_t k, const MelSpec& spec) const noexcept {
    const double at = mel::place_of_bin(k, spec);
    if (at == centre) return 1;
    return at < centre ? (at - left) / (centre - left) : (right - at) / (right - centre);
  }
  [[nodiscard]] constexpr bool is_empty(const MelSpec& spec) const noexcept {
    // A peak weight below this is an accident of rounding: the bin lies on the triangle's corner.
    constexpr double kSmallestPeak = 1e-6;
    for (std::int32_t k = first; k < last; ++k) {
      if (weight(k, spec) >= kSmallestPeak) return false;
    }
    return true;
  }
};

constexpr Triangle triangle_of(const MelSpec& spec, std::int32_t filter) noexcept {
  using mel::corner_of;
  using mel::place_of_bin;
  Triangle t{corner_of(spec, filter), corner_of(spec, filter + 1), corner_of(spec, filter + 2), 0, 0};
  const auto bins = static_cast<std::int32_t>(spec.bins());
  if (mel::on_bins(spec)) {
    const auto peak = static_cast<std::int32_t>(t.centre);
    t.first = t.left < t.centre ? static_cast<std::int32_t>(t.left) + 1 : peak;
    t.last = t.right > t.centre ? static_cast<std::int32_t>(t.right) : peak + 1;
    if (t.first > bins) t.first = bins;
    if (t.last > bins) t.last = bins;
    return t;
  }
  // From corner frequencies to bins. The comparison on the axis decides: begin one bin early and end
  // when it fails.
  const double bins_per_hz = static_cast<double>(spec.fft_size) / spec.rate_hz;
  const double guess = (spec.shape == MelShape::hz ? t.left : hz_of(t.left, spec.scale)) * bins_per_hz - 2;
  t.first = guess > 0 ? static_cast<std::int32_t>(guess) : 0;
  while (t.first < bins && !(place_of_bin(t.first, spec) > t.left)) ++t.first;
  t.last = t.first;
  while (t.last < bins && place_of_bin(t.last, spec) < t.right) ++t.last;
  return t;
}

// The factor of the filter's weights.
constexpr double height_of(const MelSpec& spec, std::int32_t filter) noexcept {
  return spec.norm == MelNorm::none ? 1
                                    : 2 / (mel::corner_hz(spec, filter + 2) - mel::corner_hz(spec, filter));
}

// Sizes of the arrays of MelRows (simd/kernels.h) for `lanes` parallel filters.
struct MelRowSizes {
  std::size_t weights = 0;  // floats
  std::size_t groups = 0;   // of `lanes` filters
  std::size_t bins = 0;     // integers
  [[nodiscard]] constexpr std::size_t integers() const noexcept { return groups + 1 + bins; }
};

namespace mel {

// Rows of a group of `lanes` filters: as many as its longest filter needs, and with several lanes a multiple
// of four, the number that kernels take at once.
constexpr std::int32_t rows_of(const MelSpec& spec, std::int32_t first, std::int32_t lanes) noexcept {
  std::int32_t longest = 0;
  for (std::int32_t i = first; i < first + lanes && i < spec.filters; ++i) {
    const std::int32_t bins = triangle_of(spec, i).bins();
    if (bins > longest) longest = bins;
  }
  return lanes > 1 ? (longest + 3) / 4 * 4 : longest;
}

}  // namespace mel

constexpr MelRowSizes mel_row_sizes(const MelSpec& spec, std::int32_t lanes) noexcept {
  MelRowSizes sizes;
  for (std::int32_t first = 0; first < spec.filters; first += lanes, ++sizes.groups)
    sizes.weights +=
        static_cast<std::size_t>(mel::rows_of(spec, first, lanes)) * static_cast<std::size_t>(lanes);
  sizes.bins = lanes > 1 ? 3 * static_cast<std::size_t>(lanes) * sizes.groups : sizes.groups;
  return sizes;
}

// weights: mel_row_sizes().weights zeroed floats; integers: the first rows of all groups and the end, then
// the bins.
constexpr void fill_mel_rows(const MelSpec& spec, std::int32_t lanes, float* weights,
                             std::int32_t* integers) noexcept {
  const auto wide = static_cast<std::size_t>(lanes);
  const std::size_t groups = (static_cast<std::size_t>(spec.filters) + wide - 1) / wide;
  const std::int32_t readable = static_cast<std::int32_t>(spec.bins()) + 1;
  std::int32_t *first_row = integers, *bins = integers + groups + 1;
  std::int32_t row = 0;
  for (std::size_t group = 0; group < groups; ++group) {
    first_row[group] = row;
    const auto first = static_cast<std::int32_t>(group * wide);
    const std::int32_t rows = mel::rows_of(spec, first, lanes);
    for (std::size_t lane = 0; lane < wide; ++lane) {
      const std::int32_t filter = first + static_cast<std::int32_t>(lane);
      const Triangle t = filter < spec.filters ? triangle_of(spec, filter) : Triangle{};
      std::int32_t start = t.first;
      if (lanes > 1) {
        // All rows read bins that exist: filters near the end begin with rows that weigh 0.
        if (start + rows > readable) start = readable - rows;
        if (start < 0) start = 0;
        std::int32_t* const at = bins + 3 * wide * group + lane;
        at[0] = start;
        at[wide] = t.first - start;
        at[2 * wide] = t.last - start;
      } else {
        bins[group] = start;
      }
      const bool empty = t.is_empty(spec);
      const double height = empty ? 0 : height_of(spec, filter);
      for (std::int32_t k = t.first; k < t.last; ++k) {
        weights[static_cast<std::size_t>(row + k - start) * wide + lane] =
            empty ? 0.0F : static_cast<float>(t.weight(k, spec) * height);
      }
    }
    row += rows;
  }
  first_row[groups] = row;
}

}  // namespace runnel::features
