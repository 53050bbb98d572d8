#include "pipeline/nodes/host/table/time_stamps.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/checked.h"
#include "base/from_chars.h"

namespace runnel::pipeline {
namespace {

constexpr std::string_view kUnits[] = {"s", "ms", "us", "ns", "iso8601"};

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// Parses exactly `digits` digits.
bool take_number(std::string_view& text, std::size_t digits, std::int64_t& value) {
  if (text.size() < digits) return false;
  value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (!is_digit(text[i])) return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return true;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Digits of a fraction as nanoseconds of a second; further ones are dropped.
std::int64_t take_fraction(std::string_view& text) {
  std::int64_t value = 0;
  int digits = 0;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    if (digits < 9) {
      value = value * 10 + (text.front() - '0');
      ++digits;
    }
  }
  for (; digits < 9; ++digits) value *= 10;
  return value;
}

// Days since 1970-01-01 in the Gregorian calendar: years that begin in March have their leap day at the end.
std::int64_t days_of(std::int64_t year, std::int64_t month, std::int64_t day) {
  const std::int64_t from_march = (month + 9) % 12, y = month <= 2 ? year - 1 : year;
  const std::int64_t era = floor_div(y, 400), year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * from_march + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

std::int64_t days_in(std::int64_t year, std::int64_t month) {
  const std::int64_t next = month == 12 ? days_of(year + 1, 1, 1) : days_of(year, month + 1, 1);
  return next - days_of(year, month, 1);
}

std::optional<std::int64_t> parse_iso8601(std::string_view text) {
  std::int64_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, nanoseconds = 0, zone = 0;
  if (!take_number(text, 4, year) || !take(text, "-") || !take_number(text, 2, month) || !take(text, "-") ||
      !take_number(text, 2, day))
    return std::nullopt;
  if (month < 1 || month > 12 || day < 1 || day > days_in(year, month)) return std::nullopt;
  if (!take(text, "Tt ") || !take_number(text, 2, hour) || !take(text, ":") || !take_number(text, 2, minute))
    return std::nullopt;
  if (take(text, ":")) {
    if (!take_number(text, 2, second)) return std::nullopt;
    if (take(text, ".,")) nanoseconds = take_fraction(text);
  }
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
  if (!take(text, "Zz") && !text.empty()) {
    const std::int64_t sign = text.front() == '-' ? -1 : 1;
    std::int64_t hours = 0, minutes = 0;
    if (!take(text, "+-") || !take_number(text, 2, hours)) return std::nullopt;
    take(text, ":");
    if (!text.empty() && !take_number(text, 2, minutes)) return std::nullopt;
    if (hours > 23 || minutes > 59) return std::nullopt;
    zone = sign * (hours * 3600 + minutes * 60);
  }
  if (!text.empty()) return std::nullopt;
  const std::int64_t seconds = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - zone;
  std::int64_t result = 0;
  if (!checked_mul(seconds, std::int64_t{1000000000}, result) || !checked_add(result, nanoseconds, result))
    return std::nullopt;
  return result;
}

// Plain decimal numbers are parsed exactly: seconds since 1970 with microseconds have 16 digits, too many for
// a double.
std::optional<std::int64_t> parse_decimal(std::string_view text, std::int64_t unit) {
  const bool negative = !text.empty() && text.front() == '-';
  std::string_view rest = text;
  take(rest, "+-");
  std::int64_t whole = 0, fraction = 0;
  std::size_t digits = 0;
  for (; !rest.empty() && is_digit(rest.front()); rest.remove_prefix(1), ++digits) {
    if (!checked_mul(whole, std::int64_t{10}, whole) ||
        !checked_add(whole, std::int64_t{rest.front() - '0'}, whole))
      return std::nullopt;
  }
  if (take(rest, ".")) {
    if (!rest.empty() && is_digit(rest.front())) ++digits;
    fraction = take_fraction(rest);
  }
  if (digits == 0) return std::nullopt;
  if (!rest.empty()) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = from_chars(text.data(), end, value);
    value *= static_cast<double>(unit);
    if (error != std::errc() || stop != end || !(std::fabs(value) < 9.0e18)) return std::nullopt;
    return static_cast<std::int64_t>(std::llround(value));
  }
  std::int64_t result = 0;
  if (!checked_mul(whole, unit, result) || !checked_add(result, fraction / (1000000000 / unit), result))
    return std::nullopt;
  return negative ? -result : result;
}

}  // namespace

std::string_view name_of(TimeUnit unit) { return kUnits[static_cast<std::size_t>(unit)]; }
TimeUnit time_unit_of(std::string_view name) {
  return static_cast<TimeUnit>(std::find(std::begin(kUnits), std::end(kUnits), name) - std::begin(kUnits));
}

std::optional<std::int64_t> parse_time(std::string_view text, TimeUnit unit) {
  switch (unit) {
    case TimeUnit::s:
      return parse_decimal(text, 1000000000);
    case TimeUnit::ms:
      return parse_decimal(text, 1000000);
    case TimeUnit::us:
      return parse_decimal(text, 1000);
    case TimeUnit::ns:
      return parse_decimal(text, 1);
    case TimeUnit::iso8601:
      return parse_iso8601(text);
  }
  return std::nullopt;
}

Rate rate_of(double hz, double tolerance) {
  for (std::int64_t seconds = 1; seconds <= 100000; ++seconds) {
    const double samples = std::round(hz * static_cast<double>(seconds));
    if (samples < 1 || samples > 1e12) continue;
    const Rate rate{static_cast<std::int64_t>(samples), seconds};
    if (std::fabs(rate.hz() - hz) <= tolerance * hz) return rate;
  }
  return {};
}

Rate deduce_rate(std::span<const std::int64_t> times) {
  std::vector<double> intervals;
  for (std::size_t i = 1; i < times.size(); ++i) {
    std::int64_t interval = 0;
    if (!__builtin_sub_overflow(times[i], times[i - 1], &interval) && interval > 0)
      intervals.push_back(static_cast<double>(interval));
  }
  if (intervals.empty()) return {};
  std::vector<double> sorted = intervals;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                   sorted.end());
  const double median = sorted[sorted.size() / 2];
  double sum = 0;
  int count = 0;
  for (const double interval : intervals) {
    if (interval < 0.5 * median || interval > 1.5 * median) continue;
    sum += interval;
    ++count;
  }
  const double hz = 1e9 * count / sum, whole = std::round(hz);
  if (whole >= 1 && whole <= 1e12 && std::fabs(whole - hz) <= 5e-3 * hz)
    return {static_cast<std::int64_t>(whole), 1};
  return rate_of(hz, 1e-3);
}

TimeGrid::Place TimeGrid::place(std::int64_t time) const {
  if (!started_) return {};
  std::int64_t since = 0;
  if (time <= last_ || __builtin_sub_overflow(time, first_, &since)) return {Verdict::out_of_order, 0, 0};
  Place place;
  const double late = (static_cast<double>(since) - expected_) / period_;
  // A row that is half a period late counts as late; no row is missing.
  if (late > 0.5) place.missing = static_cast<std::int64_t>(std::min(std::ceil(late - 0.5), 9e15));
  place.deviation = late - static_cast<double>(place.missing);
  if (std::fabs(place.deviation) > tolerance_)
    place.verdict = Verdict::irregular;
  else if (place.missing > 0)
    place.verdict = Verdict::gap;
  return place;
}

void TimeGrid::take(std::int64_t time, const Place& place) {
  if (!started_) {
    started_ = true;
    first_ = last_ = time;
    expected_ = period_;
    return;
  }
  steps_ += place.missing + 1;
  expected_ += (static_cast<double>(place.missing + 1) + place.deviation / 8) * period_;
  last_ = time;
}

double TimeGrid::drift() const {
  if (steps_ < 1000) return 0;
  return static_cast<double>(steps_) * period_ / static_cast<double>(last_ - first_) - 1;
}

}  // namespace runnel::pipeline
