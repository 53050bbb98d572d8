// Streams of single frames: one output position, called directly.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "kernels/conv/conv.h"
#include "tests/kernels/conv_cases.h"

namespace runnel::kernels {
namespace {

struct Shape {
  int in, out, groups, kernel, dilation;
};

// x and y at odd addresses, y between guards.
void expect_equal(const Shape& shape, std::mt19937& random, bool per_channel, bool non_negative, bool sum) {
  test::ConvCase c;
  ConvSpec& s = c.spec;
  s.in_channels = shape.in;
  s.out_channels = shape.out;
  s.groups = shape.groups;
  s.kernel_width = shape.kernel;
  s.dilation_width = shape.dilation;
  s.in_width = (shape.kernel - 1) * shape.dilation + 1;
  s.input_non_negative = non_negative;
  c.fill(random, random() % 4 == 0);
  c.set_requant(random, Rounding::half_up, per_channel, 0, 12);
  s.requant.zero_point = 0;
  s.requant.high = 127;
  s.requant.low = random() % 2 == 0 ? 0 : -128;
  s.add = sum;
  s.sum_low = random() % 2 == 0 ? 0 : -128;
  const auto count = static_cast<std::size_t>(shape.out);
  std::vector<std::int8_t> expected(count), addend(count + 1), x(c.x.size() + 65, std::int8_t{-77});
  std::copy(c.x.begin(), c.x.end(), x.begin() + 1);
  for (auto& a : addend) a = static_cast<std::int8_t>(random() % 256);
  conv_reference(s, c.x.data(), expected.data());
  if (sum) conv_add_reference(s, addend.data() + 1, expected.data());
  for (const Isa isa : test::ConvCase::levels()) {
    HeapMemory memory;
    Conv conv;
    ASSERT_TRUE(prepare_conv(s, isa, memory, conv).ok());
    const bool expected_direct = isa >= Isa::avx2 && !(sum && shape.groups > 1);
    ASSERT_EQ(conv.direct != nullptr, expected_direct) << name_of(isa) << ' ' << shape.out << " channels";
    if (!expected_direct) continue;
    std::vector<std::int8_t> y(count + 130, std::int8_t{0x55});
    conv.direct(conv.extra, x.data() + 1, sum ? addend.data() + 1 : nullptr, y.data() + 65);
    const std::string what = std::string(name_of(isa)) + " in " + std::to_string(shape.in) + " out " +
                             std::to_string(shape.out) + " kernel " + std::to_string(shape.kernel) +
                             " dilation " + std::to_string(shape.dilation) + (sum ? " with a sum" : "");
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(int{y[65 + i]}, int{expected[i]}) << what << " at " << i;
    for (std::size_t i = 0; i < 65; ++i) ASSERT_TRUE(y[i] == 0x55 && y[65 + count + i] == 0x55) << what;
  }
}

void expect_equal_in_all_forms(const Shape& shape, std::mt19937& random) {
  for (int form = 0; form < 8; ++form)
    expect_equal(shape, random, (form & 1) != 0, (form & 2) != 0, (form & 4) != 0);
}

TEST(ConvSingle, DenseEqualsReference) {
  std::mt19937 random(1);
  for (const int out : {1, 9, 12, 17, 32, 40, 48, 63, 64, 80, 96, 113, 128, 192}) {
    for (const int in : {1, 3, 4, 15, 16, 17, 40, 64, 65}) {
      for (const int kernel : {1, 2, 3, 5}) {
        for (const int dilation : {1, 3}) expect_equal_in_all_forms({in, out, 1, kernel, dilation}, random);
      }
    }
  }
}

TEST(ConvSingle, DepthwiseEqualsReference) {
  std::mt19937 random(2);
  for (const int channels : {2, 12, 32, 48, 63, 64, 65, 128}) {
    for (int kernel = 1; kernel <= 13; ++kernel) {
      for (const int dilation : {1, 2, 5})
        expect_equal_in_all_forms({channels, channels, channels, kernel, dilation}, random);
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
