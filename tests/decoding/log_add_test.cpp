#include "decoding/log_add.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace runnel::decoding {
namespace {

double exact(LogProbability a, LogProbability b) {
  const double larger = std::max(a, b), distance = std::abs(static_cast<double>(a) - b) / kLogOne;
  return larger + std::log1p(std::exp(-distance)) * kLogOne;
}

TEST(LogAdd, IsWithinFourUnitsOfTheExactSum) {
  double worst = 0;
  for (LogProbability distance = 0; distance < 14 * kLogOne; distance += 7)
    worst = std::max(worst, std::abs(log_add(-distance, 0) - exact(-distance, 0)));
  EXPECT_LT(worst, 4);
  EXPECT_GT(worst, 0.4) << "integers cannot be exact";
}

TEST(LogAdd, IsSymmetricAndLeavesTheLargerOfFarNumbers) {
  std::mt19937 random(1);
  std::uniform_int_distribution<LogProbability> any(kNever, 0);
  for (int i = 0; i < 10000; ++i) {
    const LogProbability a = any(random), b = any(random);
    ASSERT_EQ(log_add(a, b), log_add(b, a));
    ASSERT_GE(log_add(a, b), std::max(a, b));
  }
  EXPECT_EQ(log_add(0, kNever), 0);
  EXPECT_EQ(log_add(-5 * kLogOne, -30 * kLogOne), -5 * kLogOne);
  EXPECT_NEAR(log_add(0, 0), std::log(2.0) * kLogOne, 0.5);
}

}  // namespace
}  // namespace runnel::decoding
