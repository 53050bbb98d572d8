#include "features/mel_bank.h"

#include "features/exact_math.h"

namespace runnel::features {
namespace {

// A peak weight below this is an accident of rounding: the bin lies on the triangle's corner.
constexpr double kSmallestPeak = 1e-6;

double mel_of_bin(std::int32_t k, const MelSpec& spec) noexcept {
  return mel_of(k * spec.rate_hz / static_cast<double>(spec.fft_size));
}

bool is_empty(const Triangle& triangle, const MelSpec& spec) noexcept {
  for (std::int32_t k = triangle.first; k < triangle.last; ++k) {
    if (triangle.weight(k, spec) >= kSmallestPeak) return false;
  }
  return true;
}

struct Size {
  std::size_t rows = 0;     // of `lanes` weights
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
  const auto half = static_cast<std::int32_t>(spec.fft_size / 2);
  if (spec.filters < 1 || spec.filters > half) {
    return Status(Code::invalid_argument) << "num_mel_bins " << spec.filters << ": expected 1 to " << half
                                          << ", half the FFT size " << spec.fft_size;
  }
  const double nyquist = spec.rate_hz / 2;
  const auto whole = [](double v) { return static_cast<std::int64_t>(v < 0 ? v - 0.5 : v + 0.5); };
  if (!(spec.low_hz >= 0 && spec.low_hz < nyquist)) {
    return Status(Code::invalid_argument) << "low_freq " << whole(spec.low_hz) << " Hz: expected 0 up to below " << whole(nyquist)
                                          << " Hz, half the sample frequency";
  }
  if (!(spec.high_hz > spec.low_hz && spec.high_hz <= nyquist)) {
    return Status(Code::invalid_argument) << "high_freq " << whole(spec.high_hz) << " Hz: expected above low_freq "
                                          << whole(spec.low_hz) << " Hz and at most " << whole(nyquist)
                                          << " Hz, half the sample frequency";
  }
  if (spec.allow_empty) return Status();
  for (std::int32_t b = 0; b < spec.filters; ++b) {
    const Triangle triangle = triangle_of(spec, b);
    if (!is_empty(triangle, spec)) continue;
    return Status(Code::invalid_argument)
           << "num_mel_bins " << spec.filters << ": filter " << b << ", " << whole(hz_of(triangle.left)) << " to "
           << whole(hz_of(triangle.right)) << " Hz, holds no bin of the FFT of size " << spec.fft_size << " (one each "
           << whole(spec.rate_hz / static_cast<double>(spec.fft_size))
           << " Hz); use fewer mel bins, a longer FFT or a higher low_freq, or set empty_filters=floor";
  }
  return Status();
}

}  // namespace

double mel_of(double hz) noexcept { return 1127.0 * log1p(hz / 700.0); }
double hz_of(double mel) noexcept { return 700.0 * (exp(mel / 1127.0) - 1.0); }

double Triangle::weight(std::int32_t k, const MelSpec& spec) const noexcept {
  const double mel = mel_of_bin(k, spec);
  return mel <= centre ? (mel - left) / (centre - left) : (right - mel) / (right - centre);
}

Triangle triangle_of(const MelSpec& spec, std::int32_t filter) noexcept {
  const double low = mel_of(spec.low_hz), step = (mel_of(spec.high_hz) - low) / (spec.filters + 1);
  Triangle t{low + filter * step, low + (filter + 1) * step, low + (filter + 2) * step, 0, 0};
  // From the corner frequencies to bins; the comparison in mel decides, so begin one bin early and end when it says so.
  const auto half = static_cast<std::int32_t>(spec.fft_size / 2);
  const double bins_per_hz = static_cast<double>(spec.fft_size) / spec.rate_hz;
  const double guess = hz_of(t.left) * bins_per_hz - 2;
  t.first = guess > 0 ? static_cast<std::int32_t>(guess) : 0;
  while (t.first < half && !(mel_of_bin(t.first, spec) > t.left)) ++t.first;
  t.last = t.first;
  while (t.last < half && mel_of_bin(t.last, spec) < t.right) ++t.last;
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
  if (block == nullptr) return Status(Code::out_of_memory) << "mel bank: needs " << words * sizeof(float) << " bytes";
  const auto wide = static_cast<std::size_t>(lanes);
  const std::size_t count = size.rows * wide;
  auto* weights = new (block) float[count > 0 ? count : 1];
  auto* bins = new (block + count * sizeof(float)) std::int32_t[lanes > 1 ? count : size.groups];
  auto* first_row = bins + (lanes > 1 ? count : size.groups);
  const auto zero_bin = static_cast<std::int32_t>(spec.fft_size / 2);

  std::int32_t row = 0;
  for (std::size_t group = 0; group < size.groups; ++group) {
    first_row[group] = row;
    std::int32_t longest = 0;
    for (std::int32_t lane = 0; lane < lanes; ++lane) {
      const std::int32_t filter = static_cast<std::int32_t>(group) * lanes + lane;
      if (filter >= spec.filters) break;
      const Triangle t = triangle_of(spec, filter);
      const bool empty = is_empty(t, spec);
      if (t.last - t.first > longest) longest = t.last - t.first;
      if (lanes == 1) bins[group] = t.first;
      for (std::int32_t k = t.first; k < t.last; ++k) {
        const std::size_t at = static_cast<std::size_t>(row + k - t.first) * wide + static_cast<std::size_t>(lane);
        weights[at] = empty ? 0.0F : static_cast<float>(t.weight(k, spec));
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
