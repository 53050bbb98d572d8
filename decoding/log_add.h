// Log-probabilities as integers of 16 fractional bits (natural logarithm), and their sum.
#pragma once

#include <array>
#include <cstdint>

namespace runnel::decoding {

using LogProbability = std::int32_t;

inline constexpr int kLogFraction = 16;
inline constexpr LogProbability kLogOne = 1 << kLogFraction;  // one nat
// The least of a token in a frame: e^-64 and less count as this.
inline constexpr LogProbability kLeastLog = -64 * kLogOne;
// Of what cannot be. Sums with it stay below every log-probability that occurs: scores are kept relative to
// the best.
inline constexpr LogProbability kNever = -(1 << 30);

namespace detail {

inline constexpr int kLogAddShift = 11;  // a step of the table is 2^-5 nats
inline constexpr int kLogAddSteps = 384;

// ln(1 + y) for 0 < y <= 1, by the series of the inverse hyperbolic tangent, whose argument is at most 1/3.
constexpr double log_of_one_plus(double y) noexcept {
  const double z = y / (2 + y);
  double power = z, sum = 0;
  for (int k = 1; k < 60; k += 2, power *= z * z) sum += power / k;
  return 2 * sum;
}

constexpr auto kLogAddTable = [] {
  // e^(-1/32), by its series.
  double step = 1, term = 1;
  for (int k = 1; k < 16; ++k) {
    term *= -1.0 / 32 / k;
    step += term;
  }
  std::array<std::uint16_t, kLogAddSteps + 1> table{};
  double y = 1;
  for (auto& entry : table) {
    entry = static_cast<std::uint16_t>(log_of_one_plus(y) * kLogOne + 0.5);
    y *= step;
  }
  return table;
}();

}  // namespace detail

// ln(e^a + e^b): the larger one plus ln(1 + e^-d) of their distance d, from a table with linear
// interpolation. Within 4 units (6e-5 nats) of the exact value for any two log-probabilities; the same bits
// everywhere.
constexpr LogProbability log_add(LogProbability a, LogProbability b) noexcept {
  const LogProbability larger = a > b ? a : b;
  const auto distance = static_cast<std::uint32_t>(larger) - static_cast<std::uint32_t>(a > b ? b : a);
  const std::uint32_t step = distance >> detail::kLogAddShift;
  if (step >= detail::kLogAddSteps) return larger;
  const std::int32_t low = detail::kLogAddTable[step], next = detail::kLogAddTable[step + 1];
  const auto rest = static_cast<std::int32_t>(distance & ((1u << detail::kLogAddShift) - 1));
  return larger + low - (((low - next) * rest) >> detail::kLogAddShift);
}

}  // namespace runnel::decoding
