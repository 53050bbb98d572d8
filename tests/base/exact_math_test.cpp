#include "base/exact_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace runnel::exact {
namespace {

TEST(ExactMath, HyperbolicTangentIsAccurateNearZeroToo) {
  for (double x = 1e-12; x < 30; x *= 1.07) {
    EXPECT_NEAR(tanh(x), std::tanh(x), std::tanh(x) * 1e-12) << x;
    EXPECT_EQ(tanh(-x), -tanh(x));
  }
  EXPECT_EQ(tanh(0), 0);
  EXPECT_EQ(tanh(std::numeric_limits<double>::infinity()), 1);
  EXPECT_TRUE(std::isnan(tanh(std::nan(""))));
}

TEST(ExactMath, ErrorFunction) {
  for (double x = 1e-12; x < 8; x *= 1.03) {
    EXPECT_NEAR(erf(x), std::erf(x), 2e-15) << x;
    EXPECT_NEAR(erf(x), std::erf(x), std::erf(x) * 1e-13) << x;
    EXPECT_EQ(erf(-x), -erf(x));
  }
  EXPECT_EQ(erf(0), 0);
  EXPECT_TRUE(std::isnan(erf(std::nan(""))));
}

}  // namespace
}  // namespace runnel::exact
