#include "base/exact_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "base/exact_math_constant.h"

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

TEST(ExactMath, SquareRootIsThatOfTheMachine) {
  static_assert(constant::sqrt(9.0) == 3.0);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto mantissa = static_cast<double>((random() >> 11) | (std::uint64_t{1} << 52));
    const double x = std::ldexp(mantissa, static_cast<int>(random() % 2000) - 1040);
    ASSERT_EQ(constant::sqrt(x), std::sqrt(x)) << x;
  }
  for (double x :
       {1.0, 2.0, 3.9999999999999996, 0.9999999999999999, 2.2250738585072014e-308, 1.7976931348623157e308}) {
    EXPECT_EQ(constant::sqrt(x), std::sqrt(x)) << x;
  }
  for (double x : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_EQ(constant::sqrt(x), 0) << x;
}

}  // namespace
}  // namespace runnel::exact
