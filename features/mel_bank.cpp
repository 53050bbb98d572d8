#include "features/mel_bank.h"

#include "features/exact_math.h"

namespace runnel::features {
namespace {

// A peak weight below this is an accident of rounding: the bin lies on the triangle's corner.
constexpr double kSmallestPeak = 1e-6;

bool on_bins(const MelSpec& spec) noexcept {
  return spec.shape == MelShape::bins || spec.shape == MelShape::half_bins;
}

double hz_of_bin(std::int32_t k, const MelSpec& spec) noexcept {
  return k * spec.rate_hz / static_cast<double>(spec.fft_size);
}

// Bin k on the axis of the triangles.
double place_of_bin(std::int32_t k, const MelSpec& spec) noexcept {
  if (on_bins(spec)) return k;
  return spec.shape == MelShape::hz ? hz_of_bin(k, spec) : mel_of(hz_of_bin(k, spec), spec.scale);
}

// In Hz; corner 0 is the lower end of the bank, corner filters + 1 the upper end.
double corner_hz(const MelSpec& spec, std::int32_t corner) noexcept {
  if (corner == 0) return spec.low_hz;
  if (corner == spec.filters + 1) return spec.high_hz;
  const double low = mel_of(spec.low_hz, spec.scale), high = mel_of(spec.high_hz, spec.scale);
  return hz_of(low + corner * ((high - low) / (spec.filters + 1)), spec.scale);
}

double corner_of(const MelSpec& spec, std::int32_t corner) noexcept {
  if (spec.shape == MelShape::mel) {
    const double low = mel_of(spec.low_hz, spec.scale);
    return low + corner * ((mel_of(spec.high_hz, spec.scale) - low) / (spec.filters + 1));
  }
  double hz = corner_hz(spec, corner);
  if (spec.shape == MelShape::hz) return hz;
  // The upper end lies just below the bin that it would fall on; so do the implementations that are followed here.
  if (corner == spec.filters + 1) hz -= 0.001;
  const std::size_t bins = spec.shape == MelShape::bins ? spec.fft_size : spec.fft_size / 2 + 1;
  const double place = static_cast<double>(bins + 1) * hz / spec.rate_hz;
  return place > 0 ? static_cast<double>(static_cast<std::int64_t>(place)) : 0;
}

bool is_empty(const Triangle& triangle, const MelSpec& spec) noexcept {
  for (std::int32_t k = triangle.first; k < triangle.last; ++k) {
    if (triangle.weight(k, spec) >= kSmallestPeak) return false;
  }
  return true;
}

struct Size {
  std::size_t rows = 0;  // of `lanes` weights
  std::size_t groups = 0;
};

// Rows of each group of `lanes` filters: as many as its longest filter needs.
Size size_of_bank(const MelSpec& spec, std::int32_t lanes) noexcept {
  Size size;
  for (std::int32_t b = 0; b < spec.filters; b += lanes) {
    std::int32_t longest = 0;
    for (std::int32_t i = b; i < b + lanes && i < spec.filters; ++i) {
      const Triangle triangle = triangle_of(spec, i);
      if (triangle.last - triangle.first > longest) longest = triangle.last - triangle.first;
    }
    size.rows += static_cast<std::size_t>(longest);
    ++size.groups;
  }
  return size;
}

std::size_t words_of(const Size& size, std::int32_t lanes) noexcept {
  const std::size_t weights = size.rows * static_cast<std::size_t>(lanes);
  return weights + (lanes > 1 ? weights : size.groups) + size.groups + 1;
}

Status check(const MelSpec& spec) noexcept {
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
    if (!is_empty(triangle, spec)) continue;
    return Status(Code::invalid_argument)
           << "num_mel_bins " << spec.filters << ": filter " << b << ", " << whole(corner_hz(spec, b))
           << " to " << whole(corner_hz(spec, b + 2)) << " Hz, holds no bin of the FFT of size "
           << spec.fft_size << " (one each " << whole(spec.rate_hz / static_cast<double>(spec.fft_size))
           << " Hz); use fewer mel bins, a longer FFT or a higher low_freq, or set empty_filters=floor";
  }
  return Status();
}

}  // namespace

double mel_of(double hz, MelScale scale) noexcept {
  if (scale == MelScale::htk) return 1127.0 * log1p(hz / 700.0);
  return hz < 1000 ? hz * 3 / 200 : 15 + 27 * log(hz / 1000) / log(6.4);
}
double hz_of(double mel, MelScale scale) noexcept {
  if (scale == MelScale::htk) return 700.0 * (exp(mel / 1127.0) - 1.0);
  return mel < 15 ? mel * 200 / 3 : 1000 * exp((mel - 15) * log(6.4) / 27);
}

double Triangle::weight(std::int32_t k, const MelSpec& spec) const noexcept {
  const double at = place_of_bin(k, spec);
  if (at == centre) return 1;
  return at < centre ? (at - left) / (centre - left) : (right - at) / (right - centre);
}

double height_of(const MelSpec& spec, std::int32_t filter) noexcept {
  return spec.norm == MelNorm::none ? 1 : 2 / (corner_hz(spec, filter + 2) - corner_hz(spec, filter));
}

Triangle triangle_of(const MelSpec& spec, std::int32_t filter) noexcept {
  Triangle t{corner_of(spec, filter), corner_of(spec, filter + 1), corner_of(spec, filter + 2), 0, 0};
  const auto bins = static_cast<std::int32_t>(spec.bins());
  if (on_bins(spec)) {
    const auto peak = static_cast<std::int32_t>(t.centre);
    t.first = t.left < t.centre ? static_cast<std::int32_t>(t.left) + 1 : peak;
    t.last = t.right > t.centre ? static_cast<std::int32_t>(t.right) : peak + 1;
    if (t.first > bins) t.first = bins;
    if (t.last > bins) t.last = bins;
    return t;
  }
  // From the corner frequencies to bins; the comparison on the axis decides, so begin one bin early and end when
  // it says so.
  const double bins_per_hz = static_cast<double>(spec.fft_size) / spec.rate_hz;
  const double guess = (spec.shape == MelShape::hz ? t.left : hz_of(t.left, spec.scale)) * bins_per_hz - 2;
  t.first = guess > 0 ? static_cast<std::int32_t>(guess) : 0;
  while (t.first < bins && !(place_of_bin(t.first, spec) > t.left)) ++t.first;
  t.last = t.first;
  while (t.last < bins && place_of_bin(t.last, spec) < t.right) ++t.last;
  return t;
}

std::size_t MelBank::memory_bytes(const MelSpec& spec, std::int32_t lanes) noexcept {
  if (!check(spec).ok()) return 0;
  return words_of(size_of_bank(spec, lanes), lanes) * sizeof(float);
}

Status MelBank::init(const MelSpec& spec, std::int32_t lanes, Memory& memory) noexcept {
  RUNNEL_TRY(check(spec));
  const Size size = size_of_bank(spec, lanes);
  const std::size_t words = words_of(size, lanes);
  static_assert(sizeof(float) == sizeof(std::int32_t));
  auto* block = static_cast<std::byte*>(memory.allocate(words * sizeof(float), 64));
  if (block == nullptr)
    return Status(Code::out_of_memory) << "mel bank: needs " << words * sizeof(float) << " bytes";
  const auto wide = static_cast<std::size_t>(lanes);
  const std::size_t count = size.rows * wide;
  auto* weights = new (block) float[count > 0 ? count : 1];
  auto* bins = new (block + count * sizeof(float)) std::int32_t[lanes > 1 ? count : size.groups];
  auto* first_row = bins + (lanes > 1 ? count : size.groups);
  const auto zero_bin = static_cast<std::int32_t>(spec.bins());

  std::int32_t row = 0;
  for (std::size_t group = 0; group < size.groups; ++group) {
    first_row[group] = row;
    std::int32_t longest = 0;
    for (std::int32_t lane = 0; lane < lanes; ++lane) {
      const std::int32_t filter = static_cast<std::int32_t>(group) * lanes + lane;
      if (filter >= spec.filters) break;
      const Triangle t = triangle_of(spec, filter);
      const bool empty = is_empty(t, spec);
      const double height = height_of(spec, filter);
      if (t.last - t.first > longest) longest = t.last - t.first;
      if (lanes == 1) bins[group] = t.first;
      for (std::int32_t k = t.first; k < t.last; ++k) {
        const std::size_t at =
            static_cast<std::size_t>(row + k - t.first) * wide + static_cast<std::size_t>(lane);
        weights[at] = empty ? 0.0F : static_cast<float>(t.weight(k, spec) * height);
        if (lanes > 1) bins[at] = k;
      }
    }
    if (lanes > 1) {  // shorter filters read the bin that is zero
      for (std::int32_t lane = 0; lane < lanes; ++lane) {
        const std::int32_t filter = static_cast<std::int32_t>(group) * lanes + lane;
        const Triangle t = filter < spec.filters ? triangle_of(spec, filter) : Triangle{};
        for (std::int32_t i = t.last - t.first; i < longest; ++i) {
          const std::size_t at = static_cast<std::size_t>(row + i) * wide + static_cast<std::size_t>(lane);
          weights[at] = 0.0F;
          bins[at] = zero_bin;
        }
      }
    }
    row += longest;
  }
  first_row[size.groups] = row;
  rows_ = {.filters = spec.filters, .lanes = lanes, .first_row = first_row, .bins = bins, .weights = weights};
  return Status();
}

}  // namespace runnel::features
