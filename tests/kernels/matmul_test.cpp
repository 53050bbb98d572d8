#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

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

}  // namespace
}  // namespace runnel::kernels
