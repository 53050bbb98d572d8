#include "compiler/quantize/calibrate/value_counts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace runnel::compiler::quantizer {
namespace {

Extremes plain_extremes(std::span<const float> values) {
  Extremes found;
  for (const float value : values) {
    found.low = std::min(found.low, value);
    found.high = std::max(found.high, value);
    found.finite = found.finite && std::isfinite(value);
  }
  return found;
}

void count_plain(std::span<const float> values, double low, double per_bin, std::span<std::uint64_t> bins) {
  for (const float value : values) {
    const auto bin = static_cast<std::size_t>((static_cast<double>(value) - low) * per_bin);
    ++bins[std::min(bin, bins.size() - 1)];
  }
}

[[gnu::always_inline]] inline Extremes extremes(std::span<const float> values) {
  constexpr std::size_t kLanes = 32;
  float low[kLanes] = {}, high[kLanes] = {}, broken[kLanes] = {};  // broken: NaN once a value is not finite
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + lane];
      low[lane] = value < low[lane] ? value : low[lane];
      high[lane] = high[lane] < value ? value : high[lane];
      broken[lane] += value - value;
    }
  }
  Extremes found = plain_extremes(values.subspan(whole));
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    found.low = std::min(found.low, low[lane]);
    found.high = std::max(found.high, high[lane]);
    found.finite = found.finite && broken[lane] == 0;
  }
  return found;
}

[[gnu::always_inline]] inline void count(std::span<const float> values, double low, double per_bin,
                                         std::span<std::uint64_t> bins) {
  constexpr std::size_t kChunk = 256;
  std::int32_t places[kChunk];
  const double last = static_cast<double>(bins.size() - 1);
  for (std::size_t first = 0; first < values.size(); first += kChunk) {
    const std::size_t size = std::min(kChunk, values.size() - first);
    for (std::size_t i = 0; i < size; ++i) {
      const double place = (static_cast<double>(values[first + i]) - low) * per_bin;
      places[i] = static_cast<std::int32_t>(place < last ? place : last);
    }
    for (std::size_t i = 0; i < size; ++i) ++bins[static_cast<std::size_t>(places[i])];
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] Extremes extremes_avx2(std::span<const float> values) { return extremes(values); }
[[gnu::target("avx512f")]] Extremes extremes_avx512(std::span<const float> values) {
  return extremes(values);
}
[[gnu::target("avx2")]] void count_avx2(std::span<const float> values, double low, double per_bin,
                                        std::span<std::uint64_t> bins) {
  count(values, low, per_bin, bins);
}
#endif
Extremes extremes_generic(std::span<const float> values) { return extremes(values); }

}  // namespace

Extremes extremes_of(std::span<const float> values, Isa isa) {
  if (isa == Isa::reference) return plain_extremes(values);
#if defined(__x86_64__)
  if (isa >= Isa::avx512) return extremes_avx512(values);
  if (isa >= Isa::avx2) return extremes_avx2(values);
#endif
  return extremes_generic(values);
}

void count_values(std::span<const float> values, double low, double per_bin, std::span<std::uint64_t> bins,
                  [[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx2) return count_avx2(values, low, per_bin, bins);
#endif
  count_plain(values, low, per_bin, bins);
}

}  // namespace runnel::compiler::quantizer
