// Time stamps of rows: reading them, finding the rate that they tell of, and which rows are missing, early or
// late.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace runnel::pipeline {

enum class TimeUnit : std::uint8_t { s, ms, us, ns, iso8601 };
std::string_view name_of(TimeUnit unit);
// One of these names.
TimeUnit time_unit_of(std::string_view name);

// Nanoseconds; of ISO 8601 ("2024-05-01T12:00:00.250Z", with or without seconds, fraction and zone; no zone:
// UTC) since 1970. Numbers are decimal, with or without a fraction or an exponent. nullopt: no time, or one
// that 64 bits do not hold.
std::optional<std::int64_t> parse_time(std::string_view text, TimeUnit unit);

// A rate as a fraction, in Hz.
struct Rate {
  std::int64_t samples = 0, seconds = 1;  // `samples` in every `seconds`; 0 samples: unknown
  [[nodiscard]] double hz() const { return static_cast<double>(samples) / static_cast<double>(seconds); }
};
// The fraction with the smallest denominator, at most 100000, within `tolerance` (relative) of hz.
Rate rate_of(double hz, double tolerance);
// From time stamps in order: the mean of the intervals that are like their median, taken for the whole number
// of Hz within 0.5 % of it, or else for the simplest fraction within 0.1 %. Unknown for less than two
// different times.
Rate deduce_rate(std::span<const std::int64_t> times);

// Where rows stand on the grid of a rate that their times follow with jitter and drift: the grid is led after
// the rows, an eighth of each deviation at a time.
class TimeGrid {
 public:
  // tolerance: how far a row may be from its place, in periods, up to 0.5.
  TimeGrid(Rate rate, double tolerance) : period_(1e9 / rate.hz()), tolerance_(tolerance) {}

  enum class Verdict : std::uint8_t { regular, gap, irregular, out_of_order };
  struct Place {
    Verdict verdict = Verdict::regular;
    std::int64_t missing = 0;  // rows before this one; with verdict gap, above 0
    double deviation = 0;      // from its place, in periods
  };
  // Where a row belongs. A row that is taken must be given to take().
  [[nodiscard]] Place place(std::int64_t time) const;
  void take(std::int64_t time, const Place& place);

  [[nodiscard]] std::int64_t first() const { return first_; }
  // Rate of the time stamps so far over the stated one, minus 1; 0 while there is too little to tell.
  [[nodiscard]] double drift() const;

 private:
  double period_, tolerance_;  // ns; periods
  bool started_ = false;
  std::int64_t first_ = 0, last_ = 0;
  double expected_ = 0;     // of the next row, ns since the first one
  std::int64_t steps_ = 0;  // periods between first_ and last_
};

}  // namespace runnel::pipeline
