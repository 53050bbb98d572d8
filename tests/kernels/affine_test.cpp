#include "kernels/affine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/fixed_point.h"

namespace runnel::kernels {
namespace {

constexpr double kQ0 = 2147483648.0;

TEST(Affine, MultipliersHold31Bits) {
  for (const double real : {1e-9, 0.3, 0.5, 1.0, 0.999999999999, 3.7, 1e6}) {
    const Multiplier m = multiplier_of(real);
    EXPECT_GE(m.value, 1 << 30);
    EXPECT_NEAR(static_cast<double>(m.value) / kQ0 * std::pow(2.0, -m.shift), real, real * 2e-9) << real;
  }
  EXPECT_EQ(multiplier_of(0).value, 0);
  EXPECT_EQ(multiplier_of(1e-12).value, 0);
  EXPECT_EQ(multiplier_of(1e30).shift, -31);   // saturates
  EXPECT_EQ(reduced(multiplier_of(1.0).value), 1 << 30);
  EXPECT_EQ(reduced(0x7fffffff), 0x7fff0000);
}

TEST(FixedPoint, FunctionsAreCloseToTheRealOnes) {
  for (double a = -15.9; a < 16; a += 0.0937) {
    const auto q4 = static_cast<std::int32_t>(std::lround(a * (1 << 27)));
    EXPECT_NEAR(fixed::logistic(q4) / kQ0, 1 / (1 + std::exp(-a)), 3e-7) << a;
    EXPECT_NEAR(fixed::tanh(q4) / kQ0, std::tanh(a), 3e-7) << a;
    if (a < 0) {
      EXPECT_NEAR(fixed::exp_of_negative(q4, 4) / kQ0, std::exp(a), 1e-6) << a;
    }
  }
  EXPECT_EQ(fixed::logistic(0), 1 << 30);
  EXPECT_EQ(fixed::tanh(0), 0);
}

TEST(Affine, TablesOfSixteenBitsAreWithinOneStepOfTheFunctions) {
  for (int x = -32768; x < 32768; x += 37) {
    const auto half = static_cast<std::int16_t>(x);
    EXPECT_NEAR(sigmoid_of_int16(half, 0, 0), 32768 / (1 + std::exp(-x / 4096.0)), 1.6) << x;
    EXPECT_NEAR(tanh_of_int16(half, 0, 0), 32768 * std::tanh(x / 4096.0), 3.1) << x;
  }
}

TEST(Affine, RoundsHalvesAwayFromZero) {
  EXPECT_EQ(to_integer(0.25f, 0.5f, 0), 1);
  EXPECT_EQ(to_integer(-0.25f, 0.5f, 0), -1);
  EXPECT_EQ(to_integer(-0.25f, 0.5f, 10), 9);
  EXPECT_EQ(to_integer(std::nanf(""), 0.5f, 10), 10);
}

}  // namespace
}  // namespace runnel::kernels
