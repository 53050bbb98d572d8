#include "base/checked.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace runnel {
namespace {

TEST(Checked, RangesDoNotWrap) {
  EXPECT_TRUE(range_inside(0, 10, 10));
  EXPECT_TRUE(range_inside(10, 0, 10));
  EXPECT_FALSE(range_inside(11, 0, 10));
  EXPECT_FALSE(range_inside(5, std::numeric_limits<std::uint64_t>::max(), 10));
}

TEST(Checked, DivisionRoundsTowardsTheNamedInfinity) {
  for (std::int64_t a = -20; a <= 20; ++a) {
    for (std::int64_t b = 1; b <= 7; ++b) {
      const std::int64_t floor = floor_div(a, b);
      EXPECT_LE(floor * b, a);
      EXPECT_GT((floor + 1) * b, a);
      EXPECT_EQ(ceil_div(a, b), -floor_div(-a, b));
    }
  }
}

}  // namespace
}  // namespace runnel
