#include "pipeline/nodes/host/table/time_stamps.h"

#include <gtest/gtest.h>

#include <vector>

namespace runnel::pipeline::test {
namespace {

TEST(TimeStamps, DecimalNumbersAreExact) {
  EXPECT_EQ(parse_time("0.02", TimeUnit::s), 20000000);
  EXPECT_EQ(parse_time("1714564800.123456789", TimeUnit::s), 1714564800123456789);
  EXPECT_EQ(parse_time("-1.5", TimeUnit::s), -1500000000);
  EXPECT_EQ(parse_time("12.5", TimeUnit::ms), 12500000);
  EXPECT_EQ(parse_time("7", TimeUnit::us), 7000);
  EXPECT_EQ(parse_time("1.5e3", TimeUnit::ms), 1500000000);
  EXPECT_EQ(parse_time("9", TimeUnit::ns), 9);
  for (const char* wrong :
       {"", "-", ".", "1.2.3", "abc", "1 2", "9223372036854775808", "99999999999", "1e300", "nan"})
    EXPECT_FALSE(parse_time(wrong, TimeUnit::s)) << wrong;
}

TEST(TimeStamps, Iso8601) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:00Z", TimeUnit::iso8601), 0);
  EXPECT_EQ(parse_time("2000-02-29 12:34:56.25", TimeUnit::iso8601), 951827696250000000);
  EXPECT_EQ(parse_time("2024-05-01T14:00:00,5+02:00", TimeUnit::iso8601), 1714564800500000000);
  EXPECT_EQ(parse_time("2024-05-01T11:30-0030", TimeUnit::iso8601), 1714564800000000000);
  EXPECT_EQ(parse_time("1969-12-31T23:59:59Z", TimeUnit::iso8601), -1000000000);
  for (const char* wrong : {"2023-02-29T00:00:00Z", "2024-13-01T00:00", "2024-05-01", "2024-05-01T25:00",
                            "2024-05-01T00:00:00X", "24-05-01T00:00", "9999-01-01T00:00"}) {
    EXPECT_FALSE(parse_time(wrong, TimeUnit::iso8601)) << wrong;
  }
}

std::vector<std::int64_t> times_of(double period, int count, double round_to) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < count; ++i)
    times.push_back(static_cast<std::int64_t>(static_cast<std::int64_t>(i * period / round_to + 0.5) *
                                              static_cast<std::int64_t>(round_to)));
  return times;
}

TEST(TimeStamps, TellTheirRate) {
  const auto is = [](Rate rate, std::int64_t samples, std::int64_t seconds) {
    return rate.samples == samples && rate.seconds == seconds;
  };
  EXPECT_TRUE(is(deduce_rate(times_of(1e9 / 60, 500, 1e6)), 60, 1));  // stamps of whole milliseconds
  EXPECT_TRUE(is(deduce_rate(times_of(8e7, 500, 1)), 25, 2));         // 12.5 Hz
  EXPECT_TRUE(is(deduce_rate(times_of(6e10, 5, 1)), 1, 60));          // one a minute
  EXPECT_TRUE(is(deduce_rate(times_of(2.001e7, 500, 1)), 50, 1));     // a clock that is a little slow
  std::vector<std::int64_t> with_gap = times_of(2e7, 100, 1);
  for (std::size_t i = 50; i < with_gap.size(); ++i) with_gap[i] += 1000000000;
  EXPECT_TRUE(is(deduce_rate(with_gap), 50, 1));
  EXPECT_EQ(deduce_rate(std::vector<std::int64_t>{5}).samples, 0);
  EXPECT_EQ(deduce_rate(std::vector<std::int64_t>{5, 5, 5}).samples, 0);
  EXPECT_TRUE(is(rate_of(104.17, 1e-9), 10417, 100));
  EXPECT_EQ(rate_of(3.14159265358979, 1e-15).samples, 0);
}

// Feeds times in ns; the sum of the missing rows, or -1 when one is refused.
std::int64_t missing_of(const std::vector<std::int64_t>& times, double tolerance) {
  TimeGrid grid({50, 1}, tolerance);
  std::int64_t missing = 0;
  for (const std::int64_t time : times) {
    const TimeGrid::Place place = grid.place(time);
    if (place.verdict != TimeGrid::Verdict::regular && place.verdict != TimeGrid::Verdict::gap) return -1;
    missing += place.missing;
    grid.take(time, place);
  }
  return missing;
}

TEST(TimeGrid, DriftIsNoGap) {
  EXPECT_EQ(missing_of(times_of(2e7, 10000, 1), 0.01), 0);
  EXPECT_EQ(missing_of(times_of(2.002e7, 100000, 1), 0.1),
            0);  // 100 rows late in the end, a thousandth of a row at a time
  EXPECT_EQ(missing_of(times_of(1.998e7, 100000, 1), 0.1), 0);
  TimeGrid grid({50, 1}, 0.5);
  for (const std::int64_t time : times_of(2.002e7, 5000, 1)) grid.take(time, grid.place(time));
  EXPECT_NEAR(grid.drift(), -1e-3, 1e-5);
}

TEST(TimeGrid, CountsMissingRowsAndRefusesOthers) {
  std::vector<std::int64_t> times = times_of(2e7, 100, 1);
  times.erase(times.begin() + 40, times.begin() + 47);
  times.erase(times.begin() + 10);
  EXPECT_EQ(missing_of(times, 0.1), 8);
  times[20] += 5000000;  // a quarter of a period
  EXPECT_EQ(missing_of(times, 0.1), -1);
  EXPECT_EQ(missing_of(times, 0.4), 8);
  times[20] = times[19];
  EXPECT_EQ(missing_of(times, 0.5), -1);
}

}  // namespace
}  // namespace runnel::pipeline::test
