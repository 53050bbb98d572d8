// Exponentials and shares on pairs of floats against long double, and every instruction level against the
// portable one; sums with their rests.
#include "kernels/float32/float_pair_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/float32/float_sum.h"
#include "kernels/softmax.h"
#include "tests/kernels/float_levels.h"

namespace runnel::kernels {
namespace {

std::vector<float> random_floats(std::size_t count, float low, float high, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> any(low, high);
  std::vector<float> values(count);
  for (float& value : values) value = any(generator);
  return values;
}

TEST(FloatPairs, ExponentialsHaveFortyBits) {
  std::vector<float> x = random_floats(20000, -60, 0, 1);
  for (const float value : random_floats(20000, -1, 0, 2)) x.push_back(value);
  for (float size = 1e-30f; size < 60; size *= 1.9f) x.push_back(-size);
  const float from = 0.37f;
  std::vector<float> high(x.size()), low(x.size());
  float_pair_kernels(best_isa()).exp_terms(x.size(), x.data(), from, high.data(), low.data());
  long double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double exact = std::exp(static_cast<long double>(x[i]) - static_cast<long double>(from));
    worst = std::max(
        worst,
        std::fabs(static_cast<long double>(high[i]) + static_cast<long double>(low[i]) - exact) / exact);
  }
  EXPECT_LE(worst, 0x1p-40L);
  RecordProperty("log2", std::to_string(std::log2(static_cast<double>(worst))));
}

TEST(FloatPairs, EndsOfTheNumberRange) {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : float_levels()) {
    const float x[] = {0, -0.0f, -infinity, -104, -3e38f, nan, -90};
    float high[7], low[7];
    float_pair_kernels(isa).exp_terms(7, x, 0, high, low);
    for (const int one : {0, 1}) EXPECT_EQ(high[one] + low[one], 1);
    for (const int none : {2, 3, 4}) EXPECT_EQ(high[none] + low[none], 0);
    EXPECT_TRUE(std::isnan(high[5]));
    EXPECT_NEAR(high[6], std::exp(-90.0), 3e-45);
    float y[7];
    float_pair_kernels(isa).log_shares(5, x, 0, 2, 0, y);
    EXPECT_EQ(y[0], static_cast<float>(-std::log(2.0)));
    EXPECT_EQ(y[2], -infinity);
    EXPECT_EQ(y[4], -3e38f);
  }
}

TEST(FloatPairs, EveryLevelGivesTheSameBitsForEveryCount) {
  const std::vector<float> x = random_floats(300, -110, 0, 3);
  for (std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{8}, std::size_t{17},
                            std::size_t{31}, x.size()}) {
    std::vector<std::vector<float>> found;
    for (const Isa isa : float_levels()) {
      const FloatPairKernels& kernels = float_pair_kernels(isa);
      std::vector<float> all(4 * count);
      float *const high = all.data(), *const low = high + count, *const y = low + count, *const z = y + count;
      kernels.exp_terms(count, x.data(), 0.125f, high, low);
      kernels.shares(count, high, low, 3.25f, 1e-8f, y);
      kernels.log_shares(count, x.data(), 0.125f, 3.25f, 1e-8f, z);
      found.push_back(all);
      EXPECT_EQ(std::memcmp(found.front().data(), all.data(), all.size() * sizeof(float)), 0)
          << name_of(isa) << ", " << count;
    }
  }
}

// Several rows are summed side by side; along another axis, and of integers, too.
TEST(FloatPairs, RowsTogetherGiveTheBitsOfOneByOne) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    SoftmaxSpec spec;
    spec.logarithm = pick(0, 1) == 1;
    spec.outer = static_cast<std::size_t>(pick(1, 40));
    spec.count = static_cast<std::size_t>(pick(1, 50));
    spec.inner = static_cast<std::size_t>(pick(0, 3) == 0 ? pick(2, 5) : 1);
    const std::size_t all = spec.outer * spec.count * spec.inner;
    const bool integers = pick(0, 2) == 0;
    std::vector<float> x = random_floats(all, -30, 30, seed), expected(all), y(all);
    std::vector<std::int8_t> bytes(all);
    for (std::int8_t& v : bytes) v = static_cast<std::int8_t>(pick(-128, 127));
    if (pick(0, 3) == 0) x[static_cast<std::size_t>(pick(0, static_cast<int>(all) - 1))] = NAN;
    if (integers) spec.from = DType::int8, spec.x_exponent = -4;
    const void* const in = integers ? static_cast<const void*>(bytes.data()) : x.data();
    std::vector<float> scratch(2 * spec.count);
    softmax(spec, in, expected.data(), scratch.data());
    for (const Isa isa : float_levels()) {
      spec.isa = isa;
      scratch.assign(spec.scratch_floats(), 0);
      softmax(spec, in, y.data(), scratch.data());
      for (std::size_t i = 0; i < all; ++i)
        ASSERT_TRUE(std::memcmp(&y[i], &expected[i], sizeof(float)) == 0 ||
                    (std::isnan(y[i]) && std::isnan(expected[i])))
            << "seed " << seed << " at " << i << ": " << y[i] << ", expected " << expected[i];
    }
  }
}

// Softmax and its logarithm of rows of many sizes and scales: the nearest float, or equally near.
TEST(FloatPairs, SharesAreTheNearestFloats) {
  std::size_t other = 0, all = 0;
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{2}, std::size_t{12}, std::size_t{35}, std::size_t{1000}}) {
    for (const float range : {0.01f, 1.0f, 12.0f, 60.0f}) {
      for (unsigned seed = 0; seed < 20; ++seed) {
        const std::vector<float> x = random_floats(count, -range, range, seed + static_cast<unsigned>(count));
        const auto at = std::max_element(x.begin(), x.end());
        const auto largest = static_cast<long double>(*at);
        long double others = 0;
        for (auto i = x.begin(); i != x.end(); ++i)
          others += i == at ? 0 : std::exp(static_cast<long double>(*i) - largest);
        for (const bool logarithm : {false, true}) {
          SoftmaxSpec spec;
          spec.logarithm = logarithm;
          spec.count = count;
          spec.isa = best_isa();
          std::vector<float> y = x, scratch(2 * count);
          softmax(spec, y.data(), y.data(), scratch.data());
          for (std::size_t i = 0; i < count; ++i) {
            const long double difference = static_cast<long double>(x[i]) - largest,
                              exact = logarithm ? difference - std::log1p(others)
                                                : std::exp(difference) / (1 + others);
            const auto nearest = static_cast<float>(exact);
            const long double unit = static_cast<long double>(std::nextafter(
                                         std::fabs(nearest), std::numeric_limits<float>::infinity())) -
                                     static_cast<long double>(std::fabs(nearest));
            if (logarithm ? exact < -0.01L : exact > 0x1p-100L) {
              ASSERT_LE(std::fabs(static_cast<long double>(y[i]) - exact), unit * 0.501L)
                  << count << " of " << range << (logarithm ? ", logarithm" : "");
              ++all;
              other += y[i] != nearest;
            } else {
              ASSERT_LE(std::fabs(static_cast<long double>(y[i]) - exact), unit + 5e-45L)
                  << count << " of " << range;
            }
          }
        }
      }
    }
  }
  EXPECT_LE(other, all / 1000);
}

TEST(FloatSum, KeepsWhatAdditionsLose) {
  const std::vector<float> x = random_floats(100000, -1, 1.001f, 9);
  FloatSum sum, squares;
  double exact = 0, exact_squares = 0;
  for (const float value : x) {
    sum.add(value);
    squares.add_square(value);
    exact += static_cast<double>(value);
    exact_squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_EQ(sum.value(), static_cast<float>(exact));
  EXPECT_EQ(sum.mean(100000), static_cast<float>(exact / 100000));
  EXPECT_EQ(sum.mean(3), static_cast<float>(exact / 3));
  EXPECT_EQ(squares.value(), static_cast<float>(exact_squares));
  EXPECT_EQ(squares.square_root(), static_cast<float>(std::sqrt(exact_squares)));
  FloatSum cancelled;
  for (const float value : {1e20f, 1.0f, -1e20f}) cancelled.add(value);
  EXPECT_EQ(cancelled.value(), 1);
  EXPECT_TRUE(cancelled.is_finite());
  for (const float value : {3e38f, 3e38f}) cancelled.add(value);
  EXPECT_FALSE(cancelled.is_finite());
  EXPECT_EQ(FloatSum{}.square_root(), 0);
}

}  // namespace
}  // namespace runnel::kernels
