#include "models/vibration/signal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace runnel::vibration {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr std::uint64_t kNoiseAt = 1 << 20, kJitterAt = 1 << 10;

// SplitMix64 at place `index` of the sequence `seed`, as a number in [0, 1).
double uniform(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0xD1342543DE82EF95ull + (index + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

}  // namespace

std::vector<std::int16_t> signal(std::size_t state, std::uint64_t seed, double seconds) {
  const auto count = static_cast<std::size_t>(seconds * kRate);
  std::uint64_t place = 0;
  const auto between = [&](double low, double high) { return low + (high - low) * uniform(seed, place++); };
  const double speed = between(22, 27), gain = std::pow(2.0, between(-1, 1)), noise = between(0.010, 0.020),
               hum = between(0.0, 0.004);
  double phases[4], level[3];
  for (double& phase : phases) phase = between(0, kTurn);
  level[0] = between(0.04, 0.08);
  level[1] = between(0.015, 0.03);
  level[2] = between(0.005, 0.015);
  const double large = between(0.30, 0.70), second = between(0.25, 0.60), third = between(0.08, 0.20);
  const double ring = between(900, 1400), decay = between(150, 300), impact = between(0.25, 0.60),
               load = between(0.3, 0.7);
  const std::string_view name = kStates[state];
  const bool running = name != "stopped";
  if (name == "imbalance") level[0] = large;
  if (name == "misalignment") {
    level[0] *= 2;
    level[1] = second;
    level[2] = third;
  }
  std::vector<double> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double t = static_cast<double>(i) / kRate;
    const double white = std::sqrt(-2 * std::log(1 - uniform(seed, kNoiseAt + 2 * i))) *
                         std::cos(kTurn * uniform(seed, kNoiseAt + 2 * i + 1));
    x[i] = white * (running ? noise : 0.4 * noise) + hum * std::sin(kTurn * 50 * t + phases[3]);
    for (int k = 0; running && k < 3; ++k)
      x[i] += level[k] * std::sin(kTurn * (k + 1) * speed * t + phases[k]);
  }
  if (name == "bearing") {
    const double period = 1 / (3.57 * speed);
    for (int k = 0; k < static_cast<int>(seconds / period) + 1; ++k) {
      const double at =
          (k + 0.02 * (uniform(seed, kJitterAt + static_cast<std::uint64_t>(k)) - 0.5)) * period;
      const double strength = impact * (1 + load * std::cos(kTurn * speed * at + phases[0])) / (1 + load);
      for (std::size_t i = 0; i < count; ++i) {
        const double since = static_cast<double>(i) / kRate - at;
        if (since >= 0) x[i] += strength * std::exp(-decay * since) * std::sin(kTurn * ring * since);
      }
    }
  }
  std::vector<std::int16_t> samples;
  for (const double value : x)
    samples.push_back(
        static_cast<std::int16_t>(std::clamp(std::floor(gain * value * 8192 + 0.5), -32768.0, 32767.0)));
  return samples;
}

}  // namespace runnel::vibration
