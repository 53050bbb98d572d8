// Time stamps of rows: parses them, estimates the rate, and finds missing, early and late rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace runnel::pipeline {

enum class TimeUnit : std::uint8_t { s, ms, us, ns, iso8601 };
std::string_view name_of(TimeUnit unit);
// Parses one of these names.
TimeUnit time_unit_of(std::string_view name);

// Parses to nanoseconds; ISO 8601 ("2024-05-01T12:00:00.250Z", with or without seconds, fraction and zone; no
// zone: UTC) since 1970. Numbers are decimal, with or without a fraction or an exponent. nullopt: not a time,
// or beyond 64 bits.
std::optional<std::int64_t> parse_time(std::string_view text, TimeUnit unit);

// A rate in Hz, as a fraction.
struct Rate {
  std::int64_t samples = 0, seconds = 1;  // `samples` in every `seconds`; 0 samples: unknown
  [[nodiscard]] double hz() const { return static_cast<double>(samples) / static_cast<double>(seconds); }
};
// The fraction with the smallest denominator, at most 100000, within `tolerance` (relative) of hz.
Rate rate_of(double hz, double tolerance);
// Estimates the rate from ascending time stamps: the mean of the intervals close to their median, rounded to
// a whole number of Hz if one is within 0.5 %, or else to the simplest fraction within 0.1 %. Unknown for
// fewer than two different times.
Rate deduce_rate(std::span<const std::int64_t> times);

// The positions of rows on the grid of a rate that their times follow with jitter and drift: the grid tracks
// the rows by an eighth of each deviation.
class TimeGrid {
 public:
  // tolerance: largest deviation of a row from the grid, in periods, up to 0.5.
  TimeGrid(Rate rate, double tolerance) : period_(1e9 / rate.hz()), tolerance_(tolerance) {}

  enum class Verdict : std::uint8_t { regular, gap, irregular, out_of_order };
  struct Place {
    Verdict verdict = Verdict::regular;
    std::int64_t missing = 0;  // rows before this one; with verdict gap, above 0
    double deviation = 0;      // from the grid, in periods
  };
  // The position of a row. Call take() for every row that is accepted.
  [[nodiscard]] Place place(std::int64_t time) const;
  void take(std::int64_t time, const Place& place);

  [[nodiscard]] std::int64_t first() const { return first_; }
  // The rate of the time stamps so far relative to the stated rate, minus 1; 0 while there are too few.
  [[nodiscard]] double drift() const;

 private:
  double period_, tolerance_;  // ns; periods
  bool started_ = false;
  std::int64_t first_ = 0, last_ = 0;
  double expected_ = 0;     // of the next row, ns since the first one
  std::int64_t steps_ = 0;  // periods between first_ and last_
};

}  // namespace runnel::pipeline
