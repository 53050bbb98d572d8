#include "kernels/affine_softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace runnel::kernels {
namespace {

TEST(AffineSoftmax, OfBytesSumsToOne) {
  const std::vector<std::int8_t> x{10, 20, -5, 30, -128};
  std::vector<std::int8_t> y(x.size());
  AffineSoftmaxSpec spec;
  spec.rows = 1;
  spec.count = x.size();
  set_scales(spec, 0.1f, 1.0f);
  affine_softmax(spec, x.data(), y.data());
  double sum = 0;
  for (const std::int8_t v : x) sum += std::exp(0.1 * v);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i] + 128, 256 * std::exp(0.1 * x[i]) / sum, 0.6) << i;
}

TEST(AffineSoftmax, OfBytesIsTheSameWithATableOfExponentials) {
  std::mt19937 random(3);
  std::vector<std::int32_t> table(kExponentials);
  for (int repeat = 0; repeat < 500; ++repeat) {
    AffineSoftmaxSpec spec;
    spec.to = repeat % 2 == 0 ? DType::int8 : DType::int16;
    spec.rows = 1 + random() % 4;
    spec.count = repeat == 0 ? 70000 : 1 + random() % 90;
    set_scales(spec, static_cast<float>(1 + random() % 1000) * (repeat % 3 == 0 ? 1e-5f : 1e-3f), 0.7f);
    std::vector<std::int8_t> x(spec.rows * spec.count);
    for (auto& value : x) value = static_cast<std::int8_t>(repeat % 5 == 0 ? 7 : random());
    std::vector<std::byte> plain(2 * x.size()), fast(2 * x.size());
    affine_softmax(spec, x.data(), plain.data());
    fill_exponentials(spec, table.data());
    spec.exponentials = table.data();
    affine_softmax(spec, x.data(), fast.data());
    ASSERT_EQ(plain, fast) << repeat;
  }
}

// FNV-1a over 16-bit values.
struct Digest {
  std::uint32_t value = 2166136261u;
  void add(std::int16_t x) { value = (value ^ static_cast<std::uint16_t>(x)) * 16777619u; }
};

// Entries and digests of the tables of TensorFlow Lite's LUTPopulate. The last entry is only the end
// of a slope.
TEST(AffineSoftmax, TablesAreThoseOfTheReference) {
  Digest exps, fractions;
  for (int i = -256; i < 256; ++i) {
    exps.add(exp_from_table(static_cast<std::int16_t>(i * 128)));
    fractions.add(one_over_one_plus_from_table(static_cast<std::int16_t>(i * 128)));
  }
  exps.add(32767);
  fractions.add(16384);
  EXPECT_EQ(exps.value, 265035125u);
  EXPECT_EQ(fractions.value, 4237183854u);
  EXPECT_EQ(exp_from_table(-32768), 2);
  EXPECT_EQ(exp_from_table(0), 221);
  EXPECT_EQ(exp_from_table(144 * 128), 3677);
  EXPECT_EQ(one_over_one_plus_from_table(-32768), 32767);
  EXPECT_EQ(one_over_one_plus_from_table(0), 21845);
  EXPECT_EQ(exp_from_table(32767), 32762);  // 32133 + (634 * 127 + 64) / 128
  EXPECT_EQ(one_over_one_plus_from_table(32767), 16384);
}

// Digests of the reference kernel's results for rows of all lengths: one value, many equal ones, sums beyond
// the usual 31 bits.
TEST(AffineSoftmax, OfSixteenBitsGivesTheBitsOfTheReference) {
  struct Case {
    std::size_t count;
    float scale, beta;
    std::uint32_t seed;
    int low, high;
    std::uint32_t digest;
  };
  for (const Case& c :
       {Case{8, 0.0007f, 1, 1, -9000, 9000, 3625428955u}, Case{1, 0.001f, 1, 2, -32768, 32767, 2054693198u},
        Case{2, 0.00030517578f, 1, 3, -32768, 32767, 3575960829u},
        Case{12, 0.0001f, 2.5f, 4, -32768, 32767, 2053511325u},
        Case{100, 0.00002f, 1, 5, -500, 500, 640244068u},
        Case{1001, 0.0005f, 1, 6, -32768, 32767, 1686514313u},
        Case{17, 0.01f, 0.5f, 7, -32768, 32767, 607205566u}, Case{5000, 0.00001f, 1, 8, -10, 10, 2332936237u},
        Case{40000, 0.00001f, 1, 9, -10, 10, 2744285957u}}) {
    std::uint32_t random = c.seed * 2654435761u + 1;
    std::vector<std::int16_t> row(c.count);
    for (std::int16_t& value : row) {
      random = random * 1664525u + 1013904223u;
      value = static_cast<std::int16_t>(
          c.low + static_cast<int>((random >> 8) % static_cast<unsigned>(c.high - c.low + 1)));
    }
    std::vector<std::int16_t> x = row, y(2 * c.count);
    x.insert(x.end(), row.begin(), row.end());
    AffineSoftmaxSpec spec;
    spec.from = spec.to = DType::int16;
    spec.rows = 2;
    spec.count = c.count;
    set_scales(spec, c.scale, c.beta);
    affine_softmax(spec, x.data(), y.data());
    for (std::size_t first : {std::size_t{0}, c.count}) {
      Digest digest;
      for (std::size_t i = 0; i < c.count; ++i) digest.add(y[first + i]);
      EXPECT_EQ(digest.value, c.digest) << c.count << " values from seed " << c.seed << ", row at " << first;
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
