#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/transformer/integer_products.h"
#include "tests/kernels/float_levels.h"

namespace runnel::kernels {
namespace {

// The order of the sums and the rounding of each product are part of the result.
TEST(Matmul, FloatsAtEveryLevelGiveTheBitsOfThePlainLoop) {
  std::mt19937 random(1);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int repeat = 0; repeat < 300; ++repeat) {
    MatmulSpec spec;
    spec.dtype = DType::float32;
    spec.rows = pick(1, 20);
    spec.inner = pick(1, 40);
    spec.columns = pick(1, 150);
    spec.relu = pick(0, 1) == 1;
    const auto numbers = [&](std::int32_t count) {
      std::vector<float> values(static_cast<std::size_t>(count));
      for (float& v : values) v = static_cast<float>(pick(-1000000, 1000000)) * 1e-5F;
      return values;
    };
    const std::vector<float> a = numbers(spec.rows * spec.inner), b = numbers(spec.inner * spec.columns);
    const auto count = static_cast<std::size_t>(spec.rows * spec.columns);
    std::vector<float> expected(count), plain(count), y(count + 1);
    for (std::int32_t row = 0; row < spec.rows; ++row) {
      for (std::int32_t column = 0; column < spec.columns; ++column) {
        float sum = 0;
        for (std::int32_t k = 0; k < spec.inner; ++k) {
          const float product = a[static_cast<std::size_t>(row * spec.inner + k)] *
                                b[static_cast<std::size_t>(k * spec.columns + column)];
          sum += product;
        }
        expected[static_cast<std::size_t>(row * spec.columns + column)] = spec.relu && sum < 0 ? 0 : sum;
      }
    }
    matmul(spec, a.data(), b.data(), plain.data(), nullptr);
    ASSERT_EQ(std::memcmp(plain.data(), expected.data(), count * sizeof(float)), 0);
    for (const Isa isa : float_levels()) {
      spec.kernels = &float_kernels(isa);
      y.back() = 12345;
      matmul(spec, a.data(), b.data(), y.data(), nullptr);
      ASSERT_EQ(std::memcmp(y.data(), expected.data(), count * sizeof(float)), 0)
          << spec.rows << " x " << spec.inner << " x " << spec.columns << " at " << name_of(isa);
      ASSERT_EQ(y.back(), 12345);
    }
  }
}

// Sums of all products, then one rounding: in every form that a specification has.
template <class T>
void check_integers(std::mt19937& random, int repeats, int& vectors) {
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  constexpr bool kBytes = sizeof(T) == 1;
  constexpr int kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    MatmulSpec spec;
    spec.dtype = kBytes ? DType::int8 : DType::int16;
    spec.rows = pick(1, 11);
    spec.inner = pick(1, 40);
    spec.columns = pick(1, 60);
    spec.low = kLow;
    spec.high = kHigh;
    spec.affine = pick(0, 1) == 1;
    spec.rounding = pick(0, 1) == 1 ? Rounding::half_even : Rounding::half_up;
    std::vector<std::int32_t> shifts(pick(0, 3) == 0 ? static_cast<std::size_t>(spec.columns) : 1);
    for (auto& shift : shifts) shift = pick(-2, kBytes ? 14 : 30);
    spec.shift = shifts.data();
    spec.shift_count = static_cast<std::int32_t>(shifts.size());
    spec.multiplier = multiplier_of(std::pow(2.0, pick(kBytes ? -14 : -30, 1)) * 0.77);
    if (kBytes && spec.affine) {
      spec.a_zero = pick(kLow, kHigh);
      spec.b_zero = pick(kLow, kHigh);
      spec.y_zero = pick(kLow, kHigh);
      spec.low = pick(kLow, 0);
    }
    const auto numbers = [&](std::int32_t count) {
      std::vector<T> values(static_cast<std::size_t>(count));
      const int kind = pick(0, 3);
      for (T& v : values) v = static_cast<T>(kind == 0 ? kLow : pick(kLow, kHigh));
      return values;
    };
    const std::vector<T> a = numbers(spec.rows * spec.inner), b = numbers(spec.inner * spec.columns);
    const auto count = static_cast<std::size_t>(spec.rows * spec.columns);
    std::vector<T> expected(count), y(count + 1);
    for (std::int32_t row = 0; row < spec.rows; ++row) {
      for (std::int32_t n = 0; n < spec.columns; ++n) {
        std::int64_t sum = 0;
        for (std::int32_t k = 0; k < spec.inner; ++k)
          sum += std::int64_t{a[static_cast<std::size_t>(row * spec.inner + k)] - spec.a_zero} *
                 (b[static_cast<std::size_t>(k * spec.columns + n)] - spec.b_zero);
        const std::int64_t value =
            spec.affine ? spec.multiplier(sum) + spec.y_zero
                        : round_shift(sum, shifts[shifts.size() == 1 ? 0 : static_cast<std::size_t>(n)],
                                      spec.rounding);
        expected[static_cast<std::size_t>(row * spec.columns + n)] =
            static_cast<T>(std::clamp<std::int64_t>(value, spec.low, spec.high));
      }
    }
    for (const Isa isa : {Isa::reference, best_isa()}) {
      spec.vectors = matmul_vectors(spec, isa);
      vectors += spec.vectors != nullptr ? 1 : 0;
      std::vector<std::int64_t> scratch(matmul_scratch(spec) / 8 + 1);
      y.back() = 55;
      matmul(spec, a.data(), b.data(), y.data(), scratch.data());
      ASSERT_EQ(std::memcmp(y.data(), expected.data(), count * sizeof(T)), 0)
          << spec.rows << " x " << spec.inner << " x " << spec.columns << " at " << name_of(isa);
      ASSERT_EQ(y.back(), 55);
    }
  }
}

TEST(Matmul, IntegersAreTheirFormulaWithAndWithoutVectors) {
  std::mt19937 random(2);
  int bytes = 0, words = 0;
  check_integers<std::int8_t>(random, 2000, bytes);
  check_integers<std::int16_t>(random, 2000, words);
  if (best_isa() >= Isa::avx2) {
    EXPECT_GT(bytes, 1000);
    EXPECT_LT(bytes, 2000);  // shifts to the left are not theirs
    EXPECT_EQ(words, 2000);
  }
}

}  // namespace
}  // namespace runnel::kernels
