// A small day of what bench/fleet_simulation computes: the code of the workers, in which some die.
#include "bench/fleet_day.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace runnel::bench {
namespace {

TEST(FleetDay, EveryStreamHasAnOwnerSoonAndEveryEventIsThereOnce) {
  FleetDay day;
  day.streams = 1000;
  day.workers = 8;
  day.hours = 6;
  day.deaths_an_hour = 0.08;
  day.replaced_after = 15;
  day.quiet = 6;
  const FleetDayResult result = run(day);
  for (const std::string& line : result.wrong) ADD_FAILURE() << line;
  ASSERT_GE(result.deaths, 2U);
  EXPECT_EQ(result.deaths, result.replaced);
  EXPECT_GT(result.events, 1000U);
  // Each worker has its share, and those of the dead are shared by all.
  EXPECT_LE(result.most, (day.streams + day.workers - 2) / (day.workers - 1));
  EXPECT_GE(result.least, day.streams / day.workers);
  ASSERT_EQ(result.without_owner.size(), result.lost_streams);
  EXPECT_GT(result.lost_streams, 100U);
  EXPECT_LE(quantile(result.without_owner, 0.5), 2.0);
  EXPECT_LE(quantile(result.without_owner, 1), 5.0);
  ASSERT_GT(result.moved_streams, 100U);
  EXPECT_LE(quantile(result.between_owners, 0.5), 0.1);
  // What was heard after the last saved state: five seconds of chunks of one second at most, and what is
  // under way.
  EXPECT_GT(result.repeated, result.lost_streams / 2);
  EXPECT_LE(result.repeated, 7 * result.lost_streams);
  // All hear of what moves, and of nothing else: a saved state goes to nobody.
  EXPECT_LE(result.notes, 3 * day.streams + 6 * (result.lost_streams + result.moved_streams));
  EXPECT_GT(result.saves, 3 * result.notes);
  // Beats of the dead do not stay.
  EXPECT_LE(result.kept_beats, day.workers + result.deaths);
}

}  // namespace
}  // namespace runnel::bench
