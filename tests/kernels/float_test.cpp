// Float kernels: the packed convolution against its specification, and bits that must be the same on every machine.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/host/heap_memory.h"
#include "kernels/conv_float.h"
#include "kernels/functions.h"
#include "kernels/softmax.h"

namespace runnel::kernels {
namespace {

std::vector<float> random_floats(std::size_t count, float range, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float& value : values) value = (static_cast<float>(generator() >> 8) / 8388608.0f - 1.0f) * range;
  return values;
}

TEST(FloatConv, EqualsTheSpecificationOverAwkwardShapes) {
  unsigned seed = 1;
  for (const std::int32_t groups : {1, 2, 3}) {
    for (const std::int32_t inputs : {1, 2, 5, 16}) {
      for (const std::int32_t outputs : {1, 3, 8, 17}) {
        for (const std::int32_t kernel : {1, 2, 3}) {
          FloatConvSpec spec;
          spec.groups = groups;
          spec.in_channels = inputs * groups;
          spec.out_channels = outputs * groups;
          spec.in_height = 4;
          spec.in_width = 9;
          spec.kernel_height = kernel;
          spec.kernel_width = 3;
          spec.stride_width = 2;
          spec.dilation_width = kernel;
          spec.pad_top = kernel - 1;
          spec.pad_left = 2;
          spec.out_height = 4;
          spec.out_width = 5;
          spec.relu = inputs == 5;
          const auto w = random_floats(static_cast<std::size_t>(spec.out_channels * kernel * 3 * inputs), 1, ++seed);
          const auto b = random_floats(static_cast<std::size_t>(spec.out_channels), 1, ++seed);
          const auto x = random_floats(static_cast<std::size_t>(4 * 9 * spec.in_channels), 1, ++seed);
          spec.weights = w.data();
          if (outputs != 3) spec.bias = b.data();
          HeapMemory memory;
          FloatConv conv;
          ASSERT_TRUE(prepare_float_conv(spec, memory, conv).ok());
          std::vector<float> expected(static_cast<std::size_t>(20 * spec.out_channels)), found(expected.size(), -77.0f);
          float_conv_reference(spec, x.data(), expected.data());
          conv.run(x.data(), found.data());
          ASSERT_EQ(std::memcmp(expected.data(), found.data(), expected.size() * sizeof(float)), 0)
              << groups << " groups, " << inputs << " inputs, " << outputs << " outputs, kernel " << kernel;
        }
      }
    }
  }
}

TEST(FloatConv, WhatCannotBeIsRefused) {
  const float weights[] = {1, std::nanf("")};
  FloatConvSpec spec;
  spec.weights = weights;
  spec.in_channels = 2;
  HeapMemory memory;
  FloatConv conv;
  EXPECT_EQ(prepare_float_conv(spec, memory, conv).text(), "convolution: weight 1 of output 0 is not finite");
  spec.groups = 3;
  EXPECT_EQ(prepare_float_conv(spec, memory, conv).text(), "convolution: 3 groups must divide 2 inputs and 1 outputs");
  spec.groups = 0;
  EXPECT_EQ(prepare_float_conv(spec, memory, conv).code(), Code::invalid_argument);
  std::array<std::byte, 4> little{};
  FixedMemory none({little.data(), little.size()});
  spec.groups = 1;
  EXPECT_EQ(prepare_float_conv(spec, none, conv).code(), Code::out_of_memory);
}

std::uint32_t fingerprint(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return crc32c(bytes);
}

// Recorded once. Another compiler, instruction set or C library must give the same bits.
TEST(FloatFunctions, BitsAreTheSameEverywhere) {
  const std::pair<Function, std::uint32_t> recorded[] = {
      {Function::exp, 0x7216C95Au},
      {Function::log, 0xE74985A1u},
      {Function::sqrt, 0x99DBF6D1u},
      {Function::sigmoid, 0xD6B5DBBBu},
      {Function::tanh, 0x37DC0379u},
      {Function::swish, 0x37D053CDu},
      {Function::hard_sigmoid, 0xB4398339u},
      {Function::hard_swish, 0xDF5DC9D3u},
      {Function::gelu, 0x960C0E8Fu},
      {Function::gelu_tanh, 0x02C55AFAu},
      {Function::elu, 0x083BB503u},
      {Function::leaky_relu, 0xFB9528FDu},
      {Function::mish, 0x3552CCFBu},
      {Function::softplus, 0x1A8E1FC7u},
      {Function::erf, 0x84FEDF80u}};
  const auto x = random_floats(4096, 12, 99);
  for (const auto& [function, expected] : recorded) {
    std::vector<float> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = function == Function::log || function == Function::sqrt ? std::fabs(x[i]) : x[i];
    apply(FunctionSpec{function, 0.25f, 0.5f}, x.size(), y.data(), y.data());
    EXPECT_EQ(fingerprint(y), expected) << static_cast<int>(function);
  }
  SoftmaxSpec spec;
  spec.outer = 64;
  spec.count = 64;
  std::vector<float> y(x.size());
  std::vector<double> scratch(64);
  softmax(spec, x.data(), y.data(), scratch.data());
  EXPECT_EQ(fingerprint(y), 0x4C3E1126u);
  std::vector<float> power(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) power[i] = static_cast<float>(pow_of(std::fabs(static_cast<double>(x[i])), static_cast<double>(x[x.size() - 1 - i])));
  EXPECT_EQ(fingerprint(power), 0xD2864BDCu);
}

}  // namespace
}  // namespace runnel::kernels
