#include "kernels/pool.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace runnel::kernels {
namespace {

template <class T>
void equal_cases(DType type, unsigned seed) {
  std::mt19937 engine(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); };
  for (int repeat = 0; repeat < 1200; ++repeat) {
    PoolSpec s;
    s.op = static_cast<PoolOp>(pick(0, 1));
    s.dtype = type;
    s.in_height = pick(1, 8);
    s.in_width = pick(1, 8);
    s.channels = repeat % 150 + 1;
    s.out_height = pick(1, 5);
    s.out_width = pick(1, 5);
    s.kernel_height = pick(1, 4);
    s.kernel_width = pick(1, 4);
    s.stride_height = pick(1, 3);
    s.stride_width = pick(1, 3);
    s.dilation_height = pick(1, 3);
    s.dilation_width = pick(1, 3);
    s.pad_top = pick(0, 4);
    s.pad_left = pick(0, 4);
    s.x_exponent = pick(-8, 0);
    s.y_exponent = s.x_exponent + pick(-2, 3);
    s.rounding = pick(0, 1) == 0 ? Rounding::half_up : Rounding::half_even;
    s.count_padding = pick(0, 1) == 0;
    s.integer_mean = pick(0, 2) == 0;
    PoolRange data{0, s.in_height, 0, s.in_width};
    if (pick(0, 1) == 0)
      data = {pick(0, s.in_height), pick(0, s.in_height), pick(0, s.in_width), pick(0, s.in_width)};
    std::vector<T> x(static_cast<std::size_t>(s.in_height * s.in_width * s.channels));
    const bool extreme = pick(0, 3) == 0;
    const int low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    for (T& v : x) v = static_cast<T>(extreme ? (pick(0, 1) != 0 ? low : high) : pick(low, high));
    const auto count = static_cast<std::size_t>(s.out_height * s.out_width * s.channels);
    std::vector<T> expected(count + 1, T{5}), y(count + 1, T{5});
    pool_reference(s, data, x.data(), expected.data());
    for (int level = 0; level <= static_cast<int>(best_isa()); ++level) {
      if (!runs_here(static_cast<Isa>(level))) continue;
      pool(s, data, x.data(), y.data(), static_cast<Isa>(level));
      ASSERT_EQ(y, expected) << level << " repeat " << repeat;
    }
  }
}

TEST(Pool, EqualsReferenceInInt8) { equal_cases<std::int8_t>(DType::int8, 1); }
TEST(Pool, EqualsReferenceInInt16) { equal_cases<std::int16_t>(DType::int16, 2); }

TEST(Pool, SumsOfRowsAreExact) {
  std::mt19937 engine(4);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); };
  for (int repeat = 0; repeat < 200; ++repeat) {
    const int rows = pick(0, 9), width = repeat % 150 + 1, step = width + pick(0, 3);
    std::vector<std::int16_t> x(static_cast<std::size_t>(rows * step));
    for (auto& v : x) v = static_cast<std::int16_t>(pick(-32768, 32767));
    std::vector<std::int32_t> expected(static_cast<std::size_t>(width), 7);
    for (int row = 0; row < rows; ++row) {
      for (int k = 0; k < width; ++k)
        expected[static_cast<std::size_t>(k)] += x[static_cast<std::size_t>(row * step + k)];
    }
    for (int level = 0; level <= static_cast<int>(best_isa()); ++level) {
      if (!runs_here(static_cast<Isa>(level))) continue;
      std::vector<std::int32_t> sums(static_cast<std::size_t>(width), 7);
      add_rows(DType::int16, rows, step, width, x.data(), sums.data(), static_cast<Isa>(level));
      ASSERT_EQ(sums, expected) << level;
    }
  }
}

TEST(Pool, AverageCountsPaddingOrNot) {
  PoolSpec s;
  s.in_width = 3;
  s.out_width = 2;
  s.kernel_width = 3;
  s.stride_width = 3;
  s.pad_left = 2;
  s.rounding = Rounding::half_up;
  const std::int8_t x[3] = {9, 4, 6};
  std::int8_t y[2];
  pool_reference(s, {0, 1, 0, 3}, x, y);  // windows {-, -, 9} and {4, 6, -}
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[1], 3);  // 10 / 3
  s.count_padding = false;
  pool_reference(s, {0, 1, 0, 3}, x, y);
  EXPECT_EQ(y[0], 9);
  EXPECT_EQ(y[1], 5);
  pool_reference(s, {0, 1, 1, 3}, x, y);  // the first value is not data
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 5);
}

TEST(Pool, MaximumOfNothingIsTheLowestValue) {
  PoolSpec s;
  s.op = PoolOp::max;
  s.in_width = 2;
  s.kernel_width = 2;
  const std::int8_t x[2] = {-100, -90};
  std::int8_t y = 0;
  pool_reference(s, {0, 1, 0, 2}, x, &y);
  EXPECT_EQ(y, -90);
  pool_reference(s, {0, 1, 0, 1}, x, &y);
  EXPECT_EQ(y, -100);
  pool_reference(s, {0, 0, 0, 0}, x, &y);
  EXPECT_EQ(y, -128);
}

}  // namespace
}  // namespace runnel::kernels
