#include "features/samples/dither.h"

#include <cmath>

#include "features/exact_math.h"

namespace runnel::features {
namespace {

// The finaliser of SplitMix64 (S. Vigna), a bijection that scatters counters.
std::uint64_t scatter(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

void add_noise(const float* from, std::size_t count, float deviation, std::int32_t seed, std::int64_t frame,
               float* to) noexcept {
  const std::uint64_t stream =
      scatter(scatter(static_cast<std::uint64_t>(seed)) ^ static_cast<std::uint64_t>(frame));
  for (std::size_t i = 0; i < count; i += 2) {
    const std::uint64_t random = scatter(stream + i);
    const double radius = std::sqrt(-2 * log((static_cast<double>(random >> 32) + 0.5) / 4294967296.0));
    const SinCos angle = turn(static_cast<std::int64_t>(random & 0xffffffffu), std::int64_t{1} << 32);
    to[i] = from[i] + deviation * static_cast<float>(radius * angle.cos);
    if (i + 1 < count) to[i + 1] = from[i + 1] + deviation * static_cast<float>(radius * angle.sin);
  }
}

}  // namespace runnel::features
