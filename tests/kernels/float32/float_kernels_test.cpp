// The float kernels of every instruction level against their specifications: the same bits for every
// shape and level.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "kernels/elementwise/functions.h"
#include "kernels/float32/conv_float.h"
#include "kernels/float32/float_recurrent.h"
#include "tests/kernels/float_levels.h"

namespace runnel::kernels {
namespace {

std::vector<float> random_floats(std::size_t count, float range, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float& value : values) value = (static_cast<float>(generator() >> 8) / 8388608.0f - 1.0f) * range;
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// A convolution on memory that ends with its data, so that AddressSanitizer sees reads past it.
void expect_equal(const FloatConvSpec& shape, unsigned seed) {
  FloatConvSpec spec = shape;
  const std::int32_t size = spec.kernel_height * spec.kernel_width * (spec.in_channels / spec.groups);
  const auto w =
      random_floats(static_cast<std::size_t>(spec.out_channels) * static_cast<std::size_t>(size), 1, seed);
  const auto b = random_floats(static_cast<std::size_t>(spec.out_channels), 1, seed + 1);
  const auto x =
      random_floats(static_cast<std::size_t>(spec.in_height * spec.in_width * spec.in_channels), 1, seed + 2);
  spec.weights = w.data();
  if (seed % 3 != 0) spec.bias = b.data();
  std::vector<float> expected(static_cast<std::size_t>(spec.out_height * spec.out_width * spec.out_channels));
  float_conv_reference(spec, x.data(), expected.data());
  for (const Isa isa : float_levels()) {
    HeapMemory memory;
    FloatConv conv;
    ASSERT_TRUE(prepare_float_conv(spec, isa, memory, conv).ok());
    std::vector<float> found(expected.size(), -77.0f), scratch(conv.scratch_bytes / sizeof(float));
    conv.run(x.data(), found.data(), scratch.data());
    ASSERT_TRUE(same_bits(found, expected))
        << name_of(isa) << ": " << spec.groups << " groups, " << spec.in_channels << " to "
        << spec.out_channels << " channels, kernel " << spec.kernel_height << " x " << spec.kernel_width
        << ", " << spec.out_height << " x " << spec.out_width << " positions";
  }
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
          if (inputs == 5) spec.limits = {0, 0.5f};
          expect_equal(spec, ++seed);
        }
      }
    }
  }
}

// Every number of vectors, panels and segments, for one row and for several tiles of rows.
TEST(FloatConv, DenseLayersOfEveryWidthEqualTheSpecification) {
  unsigned seed = 1000;
  for (const std::int32_t rows : {1, 2, 5, 6, 13}) {
    for (std::int32_t outputs = 1; outputs < 300; outputs += outputs < 36 ? 5 : 15) {
      for (const std::int32_t inputs : {1, 31, 130}) {
        FloatConvSpec spec;
        spec.in_channels = inputs;
        spec.out_channels = outputs;
        spec.in_width = spec.out_width = rows;
        if (rows == 5) spec.limits = {0, 0.5f};
        expect_equal(spec, ++seed);
      }
    }
  }
}

// Windows along time: in place, at the borders, kernels that span the width, strides.
TEST(FloatConv, WindowsInPlaceAndGatheredEqualTheSpecification) {
  unsigned seed = 5000;
  for (const std::int32_t pad : {0, 1, 4, 9}) {
    for (const std::int32_t stride : {1, 2, 3}) {
      for (const bool along_height : {false, true}) {
        FloatConvSpec spec;
        spec.in_channels = 7;
        spec.out_channels = 20;
        const std::int32_t size = 11, kernel = 5, out = (size + 2 * pad - kernel) / stride + 1;
        (along_height ? spec.in_height : spec.in_width) = size;
        (along_height ? spec.kernel_height : spec.kernel_width) = kernel;
        (along_height ? spec.stride_height : spec.stride_width) = stride;
        (along_height ? spec.pad_top : spec.pad_left) = pad;
        (along_height ? spec.out_height : spec.out_width) = out;
        expect_equal(spec, ++seed);
        if (!along_height) {
          spec.in_height = spec.out_height = 3;
          expect_equal(spec, ++seed);
          spec.groups = spec.in_channels = spec.out_channels = 37;
          spec.kernel_height = 2;
          spec.pad_top = 1;
          expect_equal(spec, ++seed);
        }
      }
    }
  }
}

// Images read where they lie, or copied with their padding in bands, for every number of neighbours in a row.
TEST(FloatConv, WindowsOfImagesEqualTheSpecification) {
  unsigned seed = 7000;
  for (const std::int32_t pad : {0, 1, 3}) {
    for (const std::int32_t outputs : {5, 16, 40, 70}) {
      for (std::int32_t width = 4; width < 32; width += width < 14 ? 1 : 5) {
        FloatConvSpec spec;
        spec.groups = width % 5 == 0 ? 2 : 1;
        spec.in_channels = 3 * spec.groups;
        spec.out_channels = outputs * spec.groups;
        spec.kernel_height = 3;
        spec.kernel_width = width % 3 == 0 ? 1 : 4;
        spec.stride_height = 1 + width % 2;
        spec.stride_width = 1 + width % 4 / 2;
        spec.dilation_height = width % 7 == 0 ? 2 : 1;
        spec.dilation_width = width % 6 == 0 ? 3 : 1;
        spec.pad_top = pad;
        spec.pad_left = pad;
        spec.out_height = 5;
        spec.out_width = width;
        // Padding below and at the right, or rows and columns that no window reaches.
        spec.in_height =
            4 * spec.stride_height + 2 * spec.dilation_height + 1 - pad + (width % 2 == 0 ? 1 : -pad);
        spec.in_width = (width - 1) * spec.stride_width + (spec.kernel_width - 1) * spec.dilation_width + 1 -
                        pad + (width % 2 == 0 ? 2 : -pad);
        if (spec.in_height < 1 || spec.in_width < 1) continue;
        if (width == 8) spec.limits = {0, 0.5f};
        expect_equal(spec, ++seed);
      }
    }
  }
  // More rows than one band has.
  FloatConvSpec spec;
  spec.in_channels = 9;
  spec.out_channels = 33;
  spec.kernel_height = spec.kernel_width = 3;
  spec.pad_top = spec.pad_left = 1;
  spec.in_height = spec.out_height = 40;
  spec.in_width = spec.out_width = 61;
  expect_equal(spec, ++seed);
}

TEST(FloatConv, WhatCannotBeIsRefused) {
  const float weights[] = {1, std::nanf("")};
  FloatConvSpec spec;
  spec.weights = weights;
  spec.in_channels = 2;
  HeapMemory memory;
  FloatConv conv;
  EXPECT_EQ(prepare_float_conv(spec, Isa::generic, memory, conv).text(),
            "convolution: weight 1 of output 0 is not finite");
  spec.groups = 3;
  EXPECT_EQ(prepare_float_conv(spec, Isa::generic, memory, conv).text(),
            "convolution: 3 groups must divide 2 inputs and 1 outputs");
  spec.groups = 0;
  EXPECT_EQ(prepare_float_conv(spec, Isa::generic, memory, conv).code(), Code::invalid_argument);
  std::array<std::byte, 4> little{};
  FixedMemory none({little.data(), little.size()});
  spec.groups = 1;
  EXPECT_EQ(prepare_float_conv(spec, Isa::generic, none, conv).code(), Code::out_of_memory);
}

struct MapCase {
  const char* name;
  FloatMap FloatKernels::*map;
  double units;  // maximum, in units in the last place
  double (*exact)(double);
};
const MapCase kMaps[] = {
    {"exp", &FloatKernels::exp, 1, [](double x) { return std::exp(x); }},
    {"sigmoid", &FloatKernels::sigmoid, 2.5, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh", &FloatKernels::tanh, 1.5, [](double x) { return std::tanh(x); }},
    {"swish", &FloatKernels::swish, 3, [](double x) { return x / (1 + std::exp(-x)); }},
    {"sqrt", &FloatKernels::sqrt, 0.5, [](double x) { return std::sqrt(x); }}};

// Numbers of every size, dense around 0 and where the functions end.
std::vector<float> arguments() {
  std::vector<float> x = random_floats(40000, 12, 3);
  for (const float value : random_floats(40000, 105, 4)) x.push_back(value);
  for (const float value : random_floats(20000, 1, 5)) x.push_back(value);
  for (float size = 1e-40f; size < 1e38f; size *= 1.7f) x.insert(x.end(), {size, -size});
  x.insert(x.end(), {0.0f, -0.0f, 88.5f, 88.73f, -87.4f, -103.9f});
  return x;
}

TEST(FloatFunctions, AreAsExactAsTheySay) {
  for (const MapCase& one : kMaps) {
    const std::vector<float> x = arguments();
    std::vector<float> y(x.size());
    (float_kernels(best_isa()).*one.map)(x.size(), x.data(), y.data());
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = one.exact(static_cast<double>(x[i]));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(y[i])) << one.name << '(' << x[i] << ')';
        continue;
      }
      const auto rounded = static_cast<float>(expected);
      if (one.map == &FloatKernels::swish && x[i] < -87) {
        EXPECT_NEAR(static_cast<double>(y[i]), expected, 2e-43);
        continue;
      }
      if (std::isinf(rounded)) {
        EXPECT_EQ(y[i], rounded) << one.name << '(' << x[i] << ')';
        continue;
      }
      const double unit = std::max(
          static_cast<double>(std::nextafter(std::fabs(rounded), std::numeric_limits<float>::infinity())) -
              std::fabs(static_cast<double>(rounded)),
          1e-45);
      const double apart = std::fabs(static_cast<double>(y[i]) - expected) / unit;
      if (!(apart <= worst)) worst = apart, where = x[i];
    }
    EXPECT_LE(worst, one.units) << one.name << '(' << where << ')';
    RecordProperty(one.name, std::to_string(worst));
  }
}

TEST(FloatFunctions, LogarithmsAreThoseOfTheReference) {
  std::vector<float> x = arguments();
  x.insert(x.end(), {1.0f, 1.41421354f, 1.41421366f, std::numeric_limits<float>::infinity(),
                     -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
                     std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()});
  for (const float value : random_floats(20000, 2, 6)) x.push_back(std::fabs(value));
  std::vector<float> expected(x.size());
  apply({Function::log}, x.size(), x.data(), expected.data());
  for (const Isa isa : float_levels()) {
    std::vector<float> found = x;  // in place
    if (float_kernels(isa).log == nullptr) continue;
    float_kernels(isa).log(found.size(), found.data(), found.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(std::isnan(expected[i]) ? std::isnan(found[i])
                                          : std::memcmp(&expected[i], &found[i], sizeof(float)) == 0)
          << "log(" << x[i] << "), " << name_of(isa);
    }
  }
}

TEST(FloatFunctions, EndsOfTheNumberRange) {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : float_levels()) {
    const FloatKernels& kernels = float_kernels(isa);
    const auto value = [](FloatMap map, float x) {
      map(1, &x, &x);
      return x;
    };
    EXPECT_EQ(value(kernels.exp, infinity), infinity);
    EXPECT_EQ(value(kernels.exp, -infinity), 0);
    EXPECT_EQ(value(kernels.exp, 0), 1);
    EXPECT_EQ(value(kernels.sigmoid, infinity), 1);
    EXPECT_EQ(value(kernels.sigmoid, -infinity), 0);
    EXPECT_EQ(value(kernels.sigmoid, 0), 0.5f);
    EXPECT_EQ(value(kernels.tanh, infinity), 1);
    EXPECT_EQ(value(kernels.tanh, -infinity), -1);
    EXPECT_TRUE(std::signbit(value(kernels.tanh, -0.0f)));
    EXPECT_EQ(value(kernels.swish, infinity), infinity);
    EXPECT_EQ(value(kernels.swish, -infinity), 0);
    EXPECT_TRUE(std::isnan(value(kernels.sqrt, -1)));
    for (const MapCase& one : kMaps) EXPECT_TRUE(std::isnan(value(kernels.*one.map, nan))) << one.name;
  }
}

TEST(FloatFunctions, EveryLevelGivesTheSameBitsForEveryCount) {
  const std::vector<float> x = arguments();
  for (const MapCase& one : kMaps) {
    std::vector<float> expected(x.size());
    (float_kernels(Isa::generic).*one.map)(x.size(), x.data(), expected.data());
    for (const Isa isa : float_levels()) {
      std::vector<float> found = x;  // in place
      (float_kernels(isa).*one.map)(found.size(), found.data(), found.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_TRUE(std::isnan(expected[i]) ? std::isnan(found[i])
                                            : std::memcmp(&expected[i], &found[i], 4) == 0)
            << one.name << '(' << x[i] << "), " << name_of(isa);
      }
      for (std::size_t count = 0; count < 40; ++count) {
        std::vector<float> piece(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
        (float_kernels(isa).*one.map)(count, piece.data(), piece.data());
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(std::isnan(piece[i]) ? 0 : piece[i], std::isnan(expected[i]) ? 0 : expected[i])
              << one.name << " of " << count;
      }
    }
  }
}

// The specification of a recurrent layer, unit by unit.
std::vector<float> recurrent_reference(const FloatRecurrentSpec& spec, std::int64_t frames, const float* x,
                                       std::vector<float>& h, std::vector<float>& c) {
  const FloatKernels& kernels = float_kernels(Isa::generic);
  const auto of = [](FloatMap map, float value) {
    map(1, &value, &value);
    return value;
  };
  const std::int32_t rows = (spec.lstm ? 4 : 3) * spec.hidden;
  std::vector<float> every, a(static_cast<std::size_t>(rows)), s(a.size());
  for (std::int64_t t = 0; t < frames; ++t) {
    for (std::int32_t row = 0; row < rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      a[at] = float_dot_reference(spec.inputs, float_segments(spec.inputs, rows), x + t * spec.inputs,
                                  spec.input_weights + row * spec.inputs, 1) +
              (spec.input_bias == nullptr ? 0.0f : spec.input_bias[row]);
      s[at] = float_dot_reference(spec.hidden, float_segments(spec.hidden, rows), h.data(),
                                  spec.hidden_weights + row * spec.hidden, 1) +
              (spec.hidden_bias == nullptr ? 0.0f : spec.hidden_bias[row]);
    }
    const auto n = static_cast<std::size_t>(spec.hidden);
    for (std::size_t k = 0; k < n; ++k) {
      if (spec.lstm) {
        const float i = of(kernels.sigmoid, a[k] + s[k]), o = of(kernels.sigmoid, a[n + k] + s[n + k]),
                    f = of(kernels.sigmoid, a[2 * n + k] + s[2 * n + k]);
        c[k] = std::fma(f, c[k], i * of(kernels.tanh, a[3 * n + k] + s[3 * n + k]));
        h[k] = o * of(kernels.tanh, c[k]);
      } else {
        const float z = of(kernels.sigmoid, a[k] + s[k]), r = of(kernels.sigmoid, a[n + k] + s[n + k]);
        h[k] = std::fma(z, h[k], (1 - z) * of(kernels.tanh, std::fma(r, s[2 * n + k], a[2 * n + k])));
      }
    }
    every.insert(every.end(), h.begin(), h.end());
  }
  return every;
}

TEST(FloatRecurrent, EqualsTheSpecificationInAnyDivisionOfTheFrames) {
  unsigned seed = 9000;
  constexpr std::int64_t kFrames = 37;
  for (const bool lstm : {false, true}) {
    for (const std::int32_t hidden : {1, 5, 16, 33, 48}) {
      const std::int32_t inputs = hidden == 5 ? 40 : 3, rows = (lstm ? 4 : 3) * hidden;
      const auto w = random_floats(static_cast<std::size_t>(rows * inputs), 1, ++seed),
                 r = random_floats(static_cast<std::size_t>(rows * hidden), 0.5f, ++seed);
      const auto wb = random_floats(static_cast<std::size_t>(rows), 1, ++seed),
                 rb = random_floats(static_cast<std::size_t>(rows), 1, ++seed);
      const auto x = random_floats(static_cast<std::size_t>(kFrames * inputs), 1, ++seed);
      FloatRecurrentSpec spec{
          lstm, inputs, hidden, w.data(), r.data(), wb.data(), hidden == 16 ? nullptr : rb.data()};
      std::vector<float> h0(static_cast<std::size_t>(hidden), 0.25f), c0(h0.size(), -0.5f);
      std::vector<float> eh = h0, ec = c0;
      const std::vector<float> expected = recurrent_reference(spec, kFrames, x.data(), eh, ec);
      for (const Isa isa : float_levels()) {
        HeapMemory memory;
        FloatRecurrent recurrent;
        ASSERT_TRUE(prepare_float_recurrent(spec, isa, memory, recurrent).ok());
        for (const std::int64_t block : {std::int64_t{1}, std::int64_t{3}, kFrames}) {
          std::vector<float> h = h0, c = c0, found(expected.size()),
                             scratch(recurrent.scratch_bytes(block) / sizeof(float));
          for (std::int64_t t = 0; t < kFrames; t += block) {
            recurrent.run(std::min(block, kFrames - t), x.data() + t * inputs, inputs, h.data(), c.data(),
                          found.data() + t * hidden, hidden, scratch.data());
          }
          ASSERT_TRUE(same_bits(found, expected))
              << name_of(isa) << ", " << hidden << " units, blocks of " << block;
          ASSERT_TRUE(same_bits(h, eh));
          ASSERT_TRUE(!lstm || same_bits(c, ec));
        }
      }
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
