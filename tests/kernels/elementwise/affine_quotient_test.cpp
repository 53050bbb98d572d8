#include "kernels/elementwise/affine_quotient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace runnel::kernels {
namespace {

constexpr std::int64_t kQ31 = std::int64_t{1} << 31;

// gemmlowp's SaturatingRoundingDoublingHighMul, without the one case that saturates.
std::int32_t high_product(std::int32_t a, std::int32_t b) {
  const std::int64_t product = std::int64_t{a} * b;
  return static_cast<std::int32_t>((product + (product >= 0 ? kQ31 / 2 : 1 - kQ31 / 2)) / kQ31);
}

// gemmlowp's one_over_one_plus_x_for_x_in_0_1: Newton's method on half of 1 + x, x in Q0, the result as well.
std::int32_t one_over_one_plus(std::int32_t x) {
  const auto half = static_cast<std::int32_t>((std::int64_t{x} + (kQ31 - 1) + 1) / 2);  // rounded
  std::int32_t y = 1515870810 + high_product(half, -1010580540);  // 48/17 - 32/17 half, in Q2
  for (int i = 0; i < 3; ++i) y += high_product(y, (1 << 29) - high_product(half, y)) * 4;
  return static_cast<std::int32_t>(std::min<std::int64_t>(std::int64_t{y} * 2, kQ31 - 1));
}

// TensorFlow Lite's DivElementwise for a and b without their zero points, restated; b is not 0.
std::int64_t reference(std::int32_t a, std::int32_t b, float scale) {
  int exponent = 0;
  const auto multiplier = static_cast<std::int32_t>(
      std::llround(std::frexp(static_cast<double>(scale), &exponent) * static_cast<double>(kQ31)));
  if (b < 0) a = -a, b = -b;
  int leading = 0;  // zeros of b
  while (((static_cast<std::uint32_t>(b) << leading) >> 31) == 0) ++leading;
  const std::int32_t reciprocal =
      one_over_one_plus(static_cast<std::int32_t>((static_cast<std::int64_t>(b) << leading) - kQ31));
  int headroom = 0;  // how far a can be shifted
  while (headroom < 31 && a * (std::int64_t{2} << headroom) >= -kQ31 &&
         a * (std::int64_t{2} << headroom) < kQ31)
    ++headroom;
  const std::int32_t quotient =
      high_product(static_cast<std::int32_t>(a * (std::int64_t{1} << headroom)), reciprocal);
  const int right = 31 - leading + headroom - exponent;
  const double product = high_product(quotient, multiplier);
  return std::llround(std::ldexp(product, -right));  // ties away from zero
}

struct Case {
  Affine a, b, y;
};

const Case kCases[] = {
    {{DType::int8, 0.02F, 0}, {DType::int8, 0.05F, 0}, {DType::int8, 0.01F, 0}},
    {{DType::int8, 0.0371F, -128}, {DType::int8, 0.0119F, -128}, {DType::int8, 0.117F, -128}},
    {{DType::int8, 0.5F, 127}, {DType::int8, 0.25F, 127}, {DType::int8, 1.9F, 11}},
    {{DType::int8, 0.25F, -9}, {DType::int8, 0.5F, 17}, {DType::int8, 0.5F, -40}},  // powers of two
    {{DType::int8, 3e-5F, 5}, {DType::int8, 7.3F, -3}, {DType::int8, 1e-6F, 64}},
    {{DType::int8, 0.9F, 1}, {DType::int8, 0.0001F, 2}, {DType::int8, 40.0F, 3}},
};

// Every pair of integers.
TEST(AffineQuotient, EqualsTheReferenceForAllPairs) {
  std::vector<std::int8_t> every(256);
  for (int i = 0; i < 256; ++i) every[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i - 128);
  for (const auto& [a, b, y] : kCases) {
    QuotientSpec spec;
    spec.count = spec.a_count = every.size();
    spec.b_count = 1;
    set_scales(spec, a, b, y);
    int inside = 0;
    for (const std::int8_t divisor : every) {
      std::vector<std::int8_t> found(every.size());
      affine_quotients(spec, every.data(), &divisor, found.data());
      for (std::size_t i = 0; i < every.size(); ++i) {
        const std::int32_t above = every[i] - a.zero_point, below = divisor - b.zero_point;
        const std::int64_t result = below != 0  ? reference(above, below, a.scale / (b.scale * y.scale))
                                    : above > 0 ? 1000
                                    : above < 0 ? -1000
                                                : 0;
        const std::int64_t expected = std::clamp<std::int64_t>(result + y.zero_point, -128, 127);
        ASSERT_EQ(found[i], expected) << above << " / " << below << ", scale of y " << y.scale;
        inside += below != 0 && expected > -128 && expected < 127 ? 1 : 0;
      }
    }
    EXPECT_GT(inside, 500) << y.scale;
  }
}

// Within a step of the quotient of the numbers that the integers stand for.
TEST(AffineQuotient, IsTheQuotient) {
  const auto& [a, b, y] = kCases[1];
  QuotientSpec spec;
  spec.count = spec.a_count = spec.b_count = 1;
  set_scales(spec, a, b, y);
  for (int i = -128; i < 128; ++i) {
    for (int j = -127; j < 128; ++j) {
      const auto above = static_cast<std::int8_t>(i), below = static_cast<std::int8_t>(j);
      std::int8_t found = 0;
      affine_quotients(spec, &above, &below, &found);
      const double real = (i - a.zero_point) * static_cast<double>(a.scale) /
                          ((j - b.zero_point) * static_cast<double>(b.scale)) / static_cast<double>(y.scale);
      ASSERT_NEAR(found, std::clamp(real + y.zero_point, -128.0, 127.0), 0.51) << i << ' ' << j;
    }
  }
}

TEST(AffineQuotient, RepeatsEitherOperandAndLimits) {
  QuotientSpec spec;
  set_scales(spec, {DType::int8, 1, 0}, {DType::int8, 1, 0}, {DType::int8, 0.5F, 0});
  spec.count = 6;
  spec.low = 0;
  spec.high = 12;
  const std::int8_t many[] = {-6, 6, 10, 3, 1, 0}, few[] = {3, -2};
  std::int8_t y[6];
  spec.a_count = 6;
  spec.b_count = 2;
  affine_quotients(spec, many, few, y);
  EXPECT_EQ(std::vector<std::int8_t>(y, y + 6), (std::vector<std::int8_t>{0, 0, 7, 0, 1, 0}));
  spec.a_count = 2;
  spec.b_count = 6;
  spec.low = -128;
  affine_quotients(spec, few, many, y);  // 3/-6, -2/6, 3/10, -2/3, 3/1, -2/0
  EXPECT_EQ(std::vector<std::int8_t>(y, y + 6), (std::vector<std::int8_t>{-1, -1, 1, -1, 6, -128}));
}

}  // namespace
}  // namespace runnel::kernels
