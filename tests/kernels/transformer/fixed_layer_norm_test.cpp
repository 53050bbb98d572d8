#include "kernels/transformer/fixed_layer_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/affine_softmax.h"
#include "tests/kernels/conv_cases.h"

namespace runnel::kernels {
namespace {

class FixedLayerNormTest : public testing::Test {
 protected:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  template <class T>
  std::vector<T> values(std::size_t count) {
    constexpr int kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
    const int kind = pick(0, 5);
    std::vector<T> out(count);
    for (T& value : out)
      value = static_cast<T>(kind == 0   ? kLow
                             : kind == 1 ? pick(0, 1) * (kHigh - kLow) + kLow
                             : kind == 2 ? pick(3, 4)
                                         : pick(kLow, kHigh));
    return out;
  }

  // The formulas of the header, one element at a time.
  template <class T, class U>
  static std::vector<U> formula(const FixedLayerNormSpec& spec, const std::vector<T>& x) {
    std::vector<U> y;
    const auto n = static_cast<std::size_t>(spec.count);
    for (std::size_t row = 0; row < spec.rows; ++row) {
      std::int64_t sum = 0, squares = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t value = x[row * n + i];
        sum += value;
        squares += value * value;
      }
      const std::int64_t spread = spec.count * squares - sum * sum + spec.epsilon;
      std::int64_t root = 0;  // 1 / sqrt(spread) = root 2^-15 2^-half
      int half = 0;
      if (spread > 0) {
        while ((spread >> (2 * half)) >= 4) ++half;  // spread = f 4^half with f in [1, 4)
        // f in 14 bits after the point, to nearest.
        const int down = 2 * half - 14;
        const auto f = static_cast<std::int64_t>(down > 0 ? (spread + (std::int64_t{1} << (down - 1))) >> down
                                                          : spread << -down);
        root = one_over_root_from_table(static_cast<std::int16_t>(std::min<std::int64_t>(f - 32768, 32767)));
      }
      for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t d = std::int64_t{spec.count} * x[row * n + i] - sum;
        const std::int64_t z =
            round_shift(d * root, root == 0 ? 1 : 15 + half - kNormBits, Rounding::half_up);
        const std::int64_t scaled = round_shift(z * spec.gain[i], 15, Rounding::half_up);
        y.push_back(
            saturate<U>(spec.result(scaled + (spec.offset == nullptr ? 0 : spec.offset[i])) + spec.y_zero));
      }
    }
    return y;
  }

  template <class T, class U>
  void check(std::int32_t count, std::size_t rows) {
    const std::vector<T> x = values<T>(static_cast<std::size_t>(count) * rows);
    std::vector<std::int16_t> gain = values<std::int16_t>(static_cast<std::size_t>(count));
    std::vector<std::int32_t> offset(gain.size());
    for (auto& value : offset) value = pick(-kMaxNormOffset, kMaxNormOffset) >> pick(0, 16);
    FixedLayerNormSpec spec;
    spec.from = sizeof(T) == 1 ? DType::int8 : DType::int16;
    spec.to = sizeof(U) == 1 ? DType::int8 : DType::int16;
    spec.rows = rows;
    spec.count = count;
    spec.gain = gain.data();
    spec.offset = pick(0, 1) == 0 ? nullptr : offset.data();
    spec.epsilon = pick(0, 2) == 0 ? std::int64_t{pick(0, 1 << 30)} << pick(0, 31) : pick(0, 1000);
    spec.result = multiplier_of(std::pow(2.0, pick(-12, 3)) * 0.83);
    spec.y_zero = sizeof(U) == 1 ? pick(-128, 127) : 0;
    const std::vector<U> expected = formula<T, U>(spec, x);
    for (const Isa isa : test::ConvCase::levels()) {
      std::vector<U> y(x.size());
      fixed_layer_norm_for(spec, isa)(spec, x.data(), y.data());
      ASSERT_EQ(y, expected) << name_of(isa) << ' ' << count;
    }
    vectors_ += fixed_layer_norm_for(spec, best_isa()) != fixed_layer_norm ? 1 : 0;
    ++all_;
  }
  std::mt19937 random_{1};
  int vectors_ = 0, all_ = 0;
};

TEST_F(FixedLayerNormTest, IsItsFormulaOnEveryLevel) {
  for (int i = 0; i < 1500; ++i) {
    const int count = i < 100 ? i + 1 : i % 50 == 0 ? kMaxFixedNorm - pick(0, 40) : pick(1, 200);
    const std::size_t rows = static_cast<std::size_t>(count > 1000 ? 1 : pick(1, 4));
    check<std::int8_t, std::int8_t>(count, rows);
    check<std::int16_t, std::int16_t>(count, rows);
    check<std::int8_t, std::int16_t>(count, rows);
    check<std::int16_t, std::int8_t>(count, rows);
    if (HasFatalFailure()) return;
  }
#if defined(__x86_64__)
  // The vectors were tested, and what they leave to the specification.
  if (best_isa() >= Isa::avx2) {
    EXPECT_GT(vectors_, all_ / 2);
    EXPECT_LT(vectors_, all_);
  }
#endif
}

TEST_F(FixedLayerNormTest, MayWriteOverItsInput) {
  std::vector<std::int16_t> x = values<std::int16_t>(96 * 3), gain(96, 12345);
  FixedLayerNormSpec spec;
  spec.from = spec.to = DType::int16;
  spec.rows = 3;
  spec.count = 96;
  spec.gain = gain.data();
  spec.result = multiplier_of(0.001);
  const std::vector<std::int16_t> expected = formula<std::int16_t, std::int16_t>(spec, x);
  for (const Isa isa : test::ConvCase::levels()) {
    std::vector<std::int16_t> place = x;
    fixed_layer_norm_for(spec, isa)(spec, place.data(), place.data());
    EXPECT_EQ(place, expected) << name_of(isa);
  }
}

// Against the real function.
TEST_F(FixedLayerNormTest, IsCloseToLayerNormalizationOfRealNumbers) {
  constexpr std::size_t kCount = 96;
  std::vector<std::int16_t> gain(kCount);
  for (auto& value : gain) value = static_cast<std::int16_t>(pick(15000, 32767));
  const double gain_scale = 1.0 / 32767, y_scale = 5.0 / 32767;
  FixedLayerNormSpec spec;
  spec.from = spec.to = DType::int16;
  spec.rows = 1;
  spec.count = kCount;
  spec.gain = gain.data();
  spec.result = multiplier_of(gain_scale * 2 / y_scale);
  double noise = 0, signal = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int16_t> x(kCount), y(kCount);
    const int size = 1 << pick(6, 15);
    for (auto& value : x)
      value = static_cast<std::int16_t>(pick(-size, size - 1) / 2 + pick(0, size - 1) / 2);
    fixed_layer_norm_for(spec, best_isa())(spec, x.data(), y.data());
    double mean = 0, squares = 0;
    for (const std::int16_t value : x) mean += value / static_cast<double>(kCount);
    for (const std::int16_t value : x)
      squares += (value - mean) * (value - mean) / static_cast<double>(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      const double real = (x[i] - mean) / std::sqrt(squares) * gain[i] * gain_scale / y_scale;
      noise += (y[i] - real) * (y[i] - real);
      signal += real * real;
    }
  }
  EXPECT_GT(10 * std::log10(signal / noise), 81.5);  // 84 of them is the result's own rounding
}

}  // namespace
}  // namespace runnel::kernels
