#include "kernels/int8_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/host/heap_memory.h"
#include "kernels/hybrid.h"
#include "tests/kernels/conv_cases.h"

namespace runnel::kernels {
namespace {

std::vector<const Int8Rows*> levels() {
  std::vector<const Int8Rows*> levels;
  for (const Isa isa : test::ConvCase::levels()) {
    if (int8_rows(isa) != nullptr) levels.push_back(int8_rows(isa));
  }
  return levels;
}

class Int8RowsTest : public testing::Test {
 protected:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::vector<std::int8_t> bytes(std::size_t count) {
    std::vector<std::int8_t> values(count);
    const bool extreme = pick(0, 2) == 0;
    for (auto& v : values) v = static_cast<std::int8_t>(extreme ? -128 : pick(-128, 127));
    return values;
  }
  std::mt19937 random_{1};
};

TEST_F(Int8RowsTest, DotProductsAreExact) {
  for (std::size_t count = 0; count < 300; ++count) {
    const auto a = bytes(count + 1), b = bytes(count + 1);
    std::int64_t expected = 0;
    for (std::size_t i = 0; i < count; ++i) expected += a[i + 1] * b[i + 1];
    for (const Int8Rows* rows : levels())
      EXPECT_EQ(rows->dot(count, a.data() + 1, b.data() + 1), expected) << count;
  }
  const std::vector<std::int8_t> lowest(kMaxInt8Dot, -128);
  for (const Int8Rows* rows : levels())
    EXPECT_EQ(rows->dot(kMaxInt8Dot, lowest.data(), lowest.data()), 16384 * 131071);
}

TEST_F(Int8RowsTest, ProductsOfPackedRowsAreExact) {
  for (int repeat = 0; repeat < 300; ++repeat) {
    const auto rows = static_cast<std::size_t>(pick(1, repeat % 5 == 0 ? 300 : 40)),
               columns = static_cast<std::size_t>(pick(1, 90));
    const auto weights = bytes(rows * columns);
    HeapMemory memory;
    PackedBytes packed;
    ASSERT_TRUE(pack_bytes(weights.data(), static_cast<std::int64_t>(rows),
                           static_cast<std::int64_t>(columns), memory, packed)
                    .ok());
    auto x = bytes(columns);
    x.resize(static_cast<std::size_t>(packed.input_bytes()));
    for (const Int8Rows* level : levels()) {
      std::vector<std::int32_t> sums(static_cast<std::size_t>(packed.rows()), -7);
      level->products(packed, x.data(), sums.data());
      for (std::size_t row = 0; row < sums.size(); ++row) {
        std::int32_t expected = 0;
        for (std::size_t i = 0; row < rows && i < columns; ++i) expected += weights[row * columns + i] * x[i];
        ASSERT_EQ(sums[row], expected) << rows << " x " << columns << ", row " << row;
      }
    }
  }
  const std::vector<std::int8_t> lowest(kMaxPackedBytes, -128);
  HeapMemory memory;
  PackedBytes packed;
  ASSERT_TRUE(pack_bytes(lowest.data(), 1, kMaxPackedBytes, memory, packed).ok());
  for (const Int8Rows* level : levels()) {
    std::vector<std::int32_t> sums(static_cast<std::size_t>(packed.rows()));
    level->products(packed, lowest.data(), sums.data());
    EXPECT_EQ(sums[0], 1 << 30);
  }
}

// Ties, their neighbours, zeros, infinity and NaN among random values.
TEST_F(Int8RowsTest, QuantizeAsThePlainLoop) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int repeat = 0; repeat < 3000; ++repeat) {
    std::vector<float> x(static_cast<std::size_t>(pick(0, 70)));
    const int kind = pick(0, 4);
    for (float& v : x) {
      v = static_cast<float>(pick(-254, 254)) / 2;  // with a largest of 127: ties
      if (kind == 1) v = std::nextafterf(v, pick(0, 1) == 0 ? 1000.0F : -1000.0F);
      if (kind == 2) v = std::ldexp(static_cast<float>(pick(-1 << 20, 1 << 20)), pick(-160, 20));
      if (kind == 3) v = 0;
    }
    if (!x.empty() && kind < 2) x[0] = 127;
    if (!x.empty() && kind == 4) {
      x[static_cast<std::size_t>(pick(0, static_cast<int>(x.size()) - 1))] =
          pick(0, 1) == 0 ? kInfinity : std::numeric_limits<float>::quiet_NaN();
    }
    std::vector<std::int8_t> expected(x.size()), found(x.size());
    const float scale = quantize_row(x.size(), x.data(), expected.data());
    for (const Int8Rows* rows : levels()) {
      const float vector_scale = rows->quantize(x.size(), x.data(), found.data());
      EXPECT_EQ(std::memcmp(&vector_scale, &scale, sizeof scale), 0) << vector_scale << ' ' << scale;
      ASSERT_EQ(found, expected) << kind;
    }
  }
}

TEST_F(Int8RowsTest, HybridConvolutionsAsThePlainLoop) {
  int as_floats = 0, packed = 0;
  for (int repeat = 0; repeat < 400; ++repeat) {
    HybridConvSpec spec;
    spec.groups = pick(0, 2) == 0 ? 2 : 1;
    spec.in_channels = spec.groups * pick(1, 40);
    spec.out_channels = spec.groups * pick(1, 9);
    spec.in_height = pick(1, 3), spec.in_width = pick(1, 9);
    spec.out_height = pick(1, 3), spec.out_width = pick(1, 9);
    spec.kernel_height = pick(1, 3), spec.kernel_width = pick(1, 5);
    spec.stride_height = pick(1, 2), spec.stride_width = pick(1, 3);
    spec.dilation_height = pick(1, 2), spec.dilation_width = pick(1, 2);
    spec.pad_top = pick(0, 2), spec.pad_left = pick(0, 4);
    if (repeat % 4 == 0) {  // products of packed rows
      spec.kernel_height = spec.kernel_width = spec.groups = 1;
      spec.pad_top = spec.pad_left = 0;
      spec.in_channels = pick(1, 70), spec.out_channels = pick(1, 70);
      spec.in_height = spec.out_height = 1;
      spec.out_width = pick(1, 2), spec.in_width = (spec.out_width - 1) * spec.stride_width + pick(1, 2);
    }
    const auto weights = bytes(static_cast<std::size_t>(spec.out_channels * spec.kernel_height *
                                                        spec.kernel_width * spec.in_channels / spec.groups));
    std::vector<float> x(static_cast<std::size_t>(spec.in_height * spec.in_width * spec.in_channels)),
        y(static_cast<std::size_t>(spec.out_height * spec.out_width * spec.out_channels)), expected(y.size());
    for (float& v : x) v = static_cast<float>(pick(-1000, 1000));
    std::vector<float> scales(static_cast<std::size_t>(spec.out_channels)), bias(scales.size());
    for (float& v : scales) v = static_cast<float>(pick(1, 1000)) * 1e-4F;
    for (float& v : bias) v = static_cast<float>(pick(-1000, 1000));
    spec.weights = weights.data();
    spec.scales = scales.data();
    spec.per_channel = pick(0, 1) == 1;
    spec.relu = pick(0, 1) == 1;
    if (pick(0, 1) == 1) spec.bias = bias.data();
    std::vector<std::int8_t> scratch(spec.scratch_bytes());
    hybrid_conv(spec, x.data(), expected.data(), scratch.data());
    for (const Isa isa : test::ConvCase::levels()) {
      HeapMemory memory;
      HybridConvSpec fast = spec;
      ASSERT_TRUE(use_vectors(isa, memory, fast).ok());
      EXPECT_EQ(fast.rows != nullptr, isa >= Isa::avx2);
      hybrid_conv(fast, x.data(), y.data(), memory.allocate(fast.scratch_bytes(), 4));
      ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0) << repeat;
      as_floats += fast.sums != nullptr ? 1 : 0;
      packed += fast.packed != nullptr ? 1 : 0;
    }
  }
  EXPECT_EQ(as_floats > 100, best_isa() >= Isa::avx2);
  EXPECT_EQ(packed >= 100, best_isa() >= Isa::avx2);
}

}  // namespace
}  // namespace runnel::kernels
