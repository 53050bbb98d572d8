#include "base/exact_single.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/exact_math.h"

namespace runnel::exact {
namespace {

TEST(ExactSingle, ExponentialIsWithinTwoTenMillionths) {
  float worst = 0;
  for (float x = -87.0f; x <= 88.0f; x += 0.0137f) {
    const double wanted = exp(static_cast<double>(x));
    worst =
        std::max(worst, static_cast<float>(std::abs(static_cast<double>(exp_single(x)) - wanted) / wanted));
  }
  EXPECT_LT(worst, 2e-7f);
  EXPECT_EQ(exp_single(0.0f), 1.0f);
}

// A few results to the bit: a machine that contracts or reorders differs.
TEST(ExactSingle, ExponentialHasTheSameBitsEverywhere) {
  std::uint32_t sum = 0;
  for (int i = -4000; i <= 4000; ++i)
    sum = sum * 31u + std::bit_cast<std::uint32_t>(exp_single(static_cast<float>(i) * 0.02f));
  EXPECT_EQ(sum, 2143706856u);
}

}  // namespace
}  // namespace runnel::exact
