// The special forms of convolutions and sums for compiled models against their definition.
#include "kernels/rom_kernels.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/conv/conv.h"

namespace runnel::kernels {
namespace {

std::vector<std::int8_t> bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::int8_t> out(count);
  for (std::int8_t& value : out) value = static_cast<std::int8_t>(random());
  return out;
}

struct Case {
  ConvSpec spec;
  std::vector<std::int8_t> weights, x;
  std::vector<std::int32_t> bias, shift;
};
Case conv(std::int32_t channels, std::int32_t outputs, std::int32_t taps, std::int32_t distance,
          std::int32_t groups, std::int32_t shift) {
  Case out;
  out.weights = bytes(static_cast<std::size_t>(outputs * taps * (channels / groups)), 1);
  out.x = bytes(static_cast<std::size_t>(((taps - 1) * distance + 1) * channels + 64), 2);
  for (std::int32_t i = 0; i < outputs; ++i) out.bias.push_back(i * 100 - 500);
  out.shift = {shift};
  ConvSpec& s = out.spec;
  s.in_width = (taps - 1) * distance + 1;
  s.kernel_width = taps;
  s.dilation_width = distance;
  s.in_channels = channels;
  s.out_channels = outputs;
  s.groups = groups;
  s.weights = out.weights.data();
  s.bias = out.bias.data();
  s.in_zero_point = 3;
  s.requant.shift = out.shift.data();
  s.requant.zero_point = -2;
  return out;
}
std::vector<std::int8_t> defined(const Case& of) {
  std::vector<std::int8_t> y(static_cast<std::size_t>(of.spec.out_channels));
  conv_reference(of.spec, of.x.data(), y.data());
  return y;
}

TEST(ConstantKernels, DenseIsTheConvolutionOfOnePosition) {
  for (const std::int32_t taps : {1, 5}) {
    const Case of = conv(12, 10, taps, 1, 1, 9);
    RomDense dense;
    ASSERT_TRUE(as_rom(of.spec, dense));
    EXPECT_EQ(dense.inputs, 12 * taps);
    std::vector<std::int8_t> y(10);
    rom_dense_int8(&dense, of.x.data(), nullptr, y.data());
    EXPECT_EQ(y, defined(of));
    RomDepthwise depthwise;
    EXPECT_FALSE(as_rom(of.spec, depthwise));
  }
}

TEST(ConstantKernels, DepthwiseIsTheConvolutionOfOnePosition) {
  for (const std::int32_t distance : {1, 4}) {
    const Case of = conv(12, 12, 9, distance, 12, 7);
    RomDepthwise depthwise;
    ASSERT_TRUE(as_rom(of.spec, depthwise));
    std::vector<std::int8_t> y(12);
    rom_depthwise_int8(&depthwise, of.x.data(), nullptr, y.data());
    EXPECT_EQ(y, defined(of));
    RomDense dense;
    EXPECT_FALSE(as_rom(of.spec, dense));
  }
}

TEST(ConstantKernels, OtherConvolutionsHaveNoShortForm) {
  RomDense dense;
  RomDepthwise depthwise;
  const auto none = [&](const ConvSpec& spec) { return !as_rom(spec, dense) && !as_rom(spec, depthwise); };
  EXPECT_TRUE(none(conv(12, 10, 3, 2, 1, 9).spec)) << "inputs in several pieces";
  EXPECT_TRUE(none(conv(12, 10, 3, 1, 2, 9).spec)) << "groups";
  const Case unshifted = conv(12, 10, 1, 1, 1, 0), far = conv(12, 10, 1, 1, 1, 31);
  EXPECT_TRUE(none(unshifted.spec));
  EXPECT_TRUE(none(far.spec));
  Case padded = conv(12, 10, 3, 1, 1, 9);
  padded.spec.pad_left = 1;
  EXPECT_TRUE(none(padded.spec));
  Case two = conv(12, 10, 1, 1, 1, 9);
  two.spec.out_width = two.spec.in_width = 2;
  EXPECT_TRUE(none(two.spec));
}

TEST(ConstantKernels, PlainSumsAreThoseOfBytes) {
  const std::vector<std::int8_t> a = bytes(50, 3), b = bytes(50, 4);
  BinarySpec spec;
  spec.count = spec.a_count = spec.b_count = 50;
  spec.low = -100;
  spec.high = 90;
  ASSERT_TRUE(is_plain_sum(spec));
  std::vector<std::int8_t> y(50), expected(50);
  rom_sum_int8(&spec, a.data(), b.data(), y.data());
  ASSERT_TRUE((rom_binary<BinaryOp::add, std::int8_t>(spec, a.data(), b.data(), expected.data())));
  EXPECT_EQ(y, expected);
  spec.b_exponent = 1;
  EXPECT_FALSE(is_plain_sum(spec));
}

}  // namespace
}  // namespace runnel::kernels
