// The roundings against independent definitions: exact rational arithmetic in __int128 and float arithmetic
// in long double.
#include "kernels/arithmetic/requantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace runnel::kernels {
namespace {

__extension__ using Wide = __int128;

Wide floor_div(Wide a, Wide b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }
enum class Tie { up, even, away };

// value / 2^shift to nearest, from the definition of a tie.
Wide nearest(Wide value, int shift, Tie tie) {
  const Wide unit = Wide{1} << shift;
  const Wide below = floor_div(value, unit);
  const Wide twice = 2 * (value - below * unit);  // compared with one unit
  if (twice != unit) return below + (twice > unit ? 1 : 0);
  switch (tie) {
    case Tie::up:
      return below + 1;
    case Tie::even:
      return below + (below % 2 != 0 ? 1 : 0);
    case Tie::away:
      return value > 0 ? below + 1 : below;
  }
  return 0;
}

TEST(Requantize, PowersOfTwoAreThoseOfTheLibrary) {
  for (int exponent = -400; exponent <= 400; ++exponent)
    EXPECT_EQ(power_of_two(exponent), std::ldexp(1.0F, exponent)) << exponent;
}

std::vector<std::int64_t> interesting(int shift) {
  std::vector<std::int64_t> values{
      0, 1, -1, 127, -128, 0x7fffffff, -0x7fffffff - 1, 0x7fffffffffffffff, -0x7fffffffffffffff - 1};
  if (shift > 0 && shift < 60) {
    for (std::int64_t k = -5; k <= 5; ++k) {
      for (std::int64_t d = -2; d <= 2; ++d)
        values.push_back(k * (std::int64_t{1} << shift) + (std::int64_t{1} << (shift - 1)) + d);
    }
  }
  std::mt19937_64 random(static_cast<unsigned>(shift + 100));
  for (int i = 0; i < 200; ++i) values.push_back(static_cast<std::int64_t>(random()) >> (i % 64));
  return values;
}

TEST(RoundShift, RightShiftsEqualTheirDefinition) {
  for (int shift = 1; shift <= 70; ++shift) {
    for (const std::int64_t value : interesting(shift)) {
      ASSERT_EQ(round_shift(value, shift, Rounding::half_up),
                static_cast<std::int64_t>(nearest(value, shift, Tie::up)))
          << value << " >> " << shift;
      ASSERT_EQ(round_shift(value, shift, Rounding::half_even),
                static_cast<std::int64_t>(nearest(value, shift, Tie::even)))
          << value << " >> " << shift;
    }
  }
}

TEST(RoundShift, TiesOfBothRoundings) {
  const std::int64_t values[] = {-7, -6, -5, -3, -2, -1, 1, 2, 3, 5, 6, 7};
  const std::int64_t up[] = {-2, -1, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2};
  const std::int64_t even[] = {-2, -2, -1, -1, 0, 0, 0, 0, 1, 1, 2, 2};
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(round_shift(values[i], 2, Rounding::half_up), up[i]) << values[i];
    EXPECT_EQ(round_shift(values[i], 2, Rounding::half_even), even[i]) << values[i];
  }
}

TEST(RoundShift, LeftShiftsSaturate) {
  constexpr Wide highest = 0x7fffffffffffffff;
  for (int shift = 0; shift <= 90; ++shift) {
    for (const std::int64_t value : interesting(0)) {
      Wide expected = value;
      for (int i = 0; i < shift; ++i) {
        expected = expected * 2;
        if (expected > highest) expected = highest;
        if (expected < -highest - 1) expected = -highest - 1;
      }
      ASSERT_EQ(round_shift(value, -shift, Rounding::half_up), static_cast<std::int64_t>(expected))
          << value << " << " << shift;
    }
  }
}

TEST(MultiplyShift, SingleRoundingEqualsItsDefinition) {
  std::mt19937 random(3);
  for (int shift = -31; shift <= 31; ++shift) {
    for (const std::int64_t wide : interesting(shift)) {
      const std::int64_t value = wide >> 31;
      const std::int32_t multiplier =
          random() % 3 == 0 ? 1 << 30 : static_cast<std::int32_t>((1u << 30) + (random() >> 2));
      const Wide product = Wide{value} * multiplier;
      const Wide expected = nearest(product, 31 + shift, Tie::up);
      ASSERT_EQ(multiply_shift(value, multiplier, shift, Rounding::single),
                static_cast<std::int64_t>(expected))
          << value << " * " << multiplier << " >> " << shift;
    }
  }
}

TEST(MultiplyShift, SingleRoundingIsExactForSixtyFourBits) {
  for (int shift = 0; shift <= 62; ++shift) {
    for (const std::int64_t value : interesting(shift)) {
      const std::int32_t multiplier = 0x5a827999;
      const Wide expected = nearest(Wide{value} * multiplier, 31 + shift, Tie::up);
      ASSERT_EQ(multiply_shift(value, multiplier, shift, Rounding::single),
                static_cast<std::int64_t>(expected))
          << value << " " << shift;
    }
  }
}

// gemmlowp: SaturatingRoundingDoublingHighMul truncates a nudged product; RoundingDivideByPOT rounds ties
// away from zero.
TEST(MultiplyShift, DoubleRoundingEqualsGemmlowp) {
  std::mt19937 random(4);
  for (int shift = -8; shift <= 31; ++shift) {
    for (const std::int64_t wide : interesting(shift)) {
      const auto value = static_cast<std::int32_t>(wide >> 41);
      const std::int32_t multiplier =
          random() % 3 == 0 ? 1 << 30 : static_cast<std::int32_t>((1u << 30) + (random() >> 2));
      const Wide product = Wide{value} * (Wide{1} << (shift < 0 ? -shift : 0)) * multiplier;
      const Wide nudge = product >= 0 ? Wide{1} << 30 : 1 - (Wide{1} << 30);
      const Wide high = (product + nudge) / (Wide{1} << 31);
      const Wide expected = shift > 0 ? nearest(high, shift, Tie::away) : high;
      ASSERT_EQ(multiply_shift(value, multiplier, shift, Rounding::tflite_double),
                static_cast<std::int64_t>(expected))
          << value << " * " << multiplier << " >> " << shift;
    }
  }
}

TEST(MultiplyShift, TheTwoRoundingsDiffer) {
  // 1.5 and -1.5 after the multiplier of one half: 3 * 0.5. Double rounding lands on 2 and -1, then halves
  // with ties away.
  EXPECT_EQ(multiply_shift(3, 1 << 30, 1, Rounding::tflite_double), 1);
  EXPECT_EQ(multiply_shift(5, 1 << 30, 1, Rounding::single), 1);           // 1.25
  EXPECT_EQ(multiply_shift(5, 1 << 30, 1, Rounding::tflite_double), 2);    // 2.5 -> 3 -> 1.5 -> 2
  EXPECT_EQ(multiply_shift(-6, 1 << 30, 1, Rounding::single), -1);         // -1.5 -> -1
  EXPECT_EQ(multiply_shift(-6, 1 << 30, 1, Rounding::tflite_double), -2);  // -3 -> -1.5 -> -2
}

TEST(RoundFloat, EqualsItsDefinition) {
  std::mt19937 random(5);
  std::vector<float> values{0.5f,  -0.5f,  1.5f,   2.5f,    -1.5f,      -2.5f, 0.49999997f,
                            -0.0f, 126.5f, 127.5f, -128.5f, 8388607.5f, 3e9f,  -3e9f};
  for (int i = 0; i < 5000; ++i)
    values.push_back(std::ldexp(static_cast<float>(static_cast<int>(random() % 2000001) - 1000000),
                                -static_cast<int>(random() % 20)));
  for (const float value : values) {
    const long double limited = std::fmax(-1e9L, std::fmin(1e9L, value));
    const auto sum = static_cast<float>(limited + 0.5L);  // rounded to float32 once
    ASSERT_EQ(round_float(value, Rounding::half_up),
              static_cast<std::int64_t>(std::fabs(limited) < 1e9L ? std::floor(static_cast<long double>(sum))
                                                                  : limited))
        << value;
    ASSERT_EQ(round_float(value, Rounding::half_even), static_cast<std::int64_t>(std::nearbyint(limited)))
        << value;
  }
  EXPECT_EQ(round_float(std::nanf(""), Rounding::half_up), 0);
  EXPECT_EQ(round_float(std::nanf(""), Rounding::half_even), 0);
}

TEST(Requantize, AddsTheZeroPointThenClamps) {
  const std::int32_t shift[2] = {2, 0};
  const Requant how{Rounding::half_up, nullptr, shift, 2, 10, -20, 50};
  EXPECT_EQ(requantize(6, how, 0), 12);
  EXPECT_EQ(requantize(6, how, 1), 16);
  EXPECT_EQ(requantize(1000000, how, 0), 50);
  EXPECT_EQ(requantize(-1000000, how, 0), -20);
  EXPECT_EQ(requantize(0x7fffffffffffffff, how, 1), 50);
}

}  // namespace
}  // namespace runnel::kernels
