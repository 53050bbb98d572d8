#include "kernels/elementwise/affine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/arithmetic/fixed_point.h"
#include "tests/kernels/conv_cases.h"

namespace runnel::kernels {
namespace {

constexpr double kQ0 = 2147483648.0;

TEST(Affine, MultipliersHold31Bits) {
  for (const double real : {1e-9, 0.3, 0.5, 1.0, 0.999999999999, 3.7, 1e6}) {
    const Multiplier m = multiplier_of(real);
    EXPECT_GE(m.value, 1 << 30);
    EXPECT_NEAR(static_cast<double>(m.value) / kQ0 * std::pow(2.0, -m.shift), real, real * 2e-9) << real;
  }
  EXPECT_EQ(multiplier_of(0).value, 0);
  EXPECT_EQ(multiplier_of(1e-12).value, 0);
  EXPECT_EQ(multiplier_of(1e30).shift, -31);  // saturates
  EXPECT_EQ(reduced(multiplier_of(1.0).value), 1 << 30);
  EXPECT_EQ(reduced(0x7fffffff), 0x7fff0000);
}

TEST(FixedPoint, FunctionsAreCloseToTheRealOnes) {
  for (double a = -15.9; a < 16; a += 0.0937) {
    const auto q4 = static_cast<std::int32_t>(std::lround(a * (1 << 27)));
    EXPECT_NEAR(fixed::logistic(q4) / kQ0, 1 / (1 + std::exp(-a)), 3e-7) << a;
    EXPECT_NEAR(fixed::tanh(q4) / kQ0, std::tanh(a), 3e-7) << a;
    if (a < 0) {
      EXPECT_NEAR(fixed::exp_of_negative(q4, 4) / kQ0, std::exp(a), 1e-6) << a;
    }
  }
  EXPECT_EQ(fixed::logistic(0), 1 << 30);
  EXPECT_EQ(fixed::tanh(0), 0);
}

TEST(Affine, TablesOfSixteenBitsAreWithinOneStepOfTheFunctions) {
  for (int x = -32768; x < 32768; x += 37) {
    const auto half = static_cast<std::int16_t>(x);
    EXPECT_NEAR(sigmoid_of_int16(half, 0, 0), 32768 / (1 + std::exp(-x / 4096.0)), 1.6) << x;
    EXPECT_NEAR(tanh_of_int16(half, 0, 0), 32768 * std::tanh(x / 4096.0), 3.1) << x;
  }
}

TEST(Affine, RoundsHalvesAwayFromZero) {
  EXPECT_EQ(to_integer(0.25f, 0.5f, 0), 1);
  EXPECT_EQ(to_integer(-0.25f, 0.5f, 0), -1);
  EXPECT_EQ(to_integer(-0.25f, 0.5f, 10), 9);
  EXPECT_EQ(to_integer(std::nanf(""), 0.5f, 10), 10);
}

// Scale times integer, rounded to float once, also for subnormal products. Integers that no float holds
// go through double.
TEST(Affine, DequantizedValuesAreRoundedOnce) {
  std::mt19937 random(5);
  for (const DType type : {DType::int8, DType::uint8, DType::int16, DType::int32}) {
    for (int exponent : {-140, -126, -60, -8, 0, 90}) {
      const Affine x{type, std::ldexp(1.0F + static_cast<float>(random() % 8388608) * 0x1p-23F, exponent),
                     type == DType::int32 ? 0 : 3};
      std::vector<std::int32_t> values(500);
      std::vector<std::byte> bytes(values.size() * size_of(type));
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::int32_t value = static_cast<std::int32_t>(random());
        if (type == DType::int32 && i % 2 == 0)
          value = (1 << 24) + static_cast<std::int32_t>(i) - 250;  // around the limit of exact floats
        if (type == DType::int8) value = static_cast<std::int8_t>(value);
        if (type == DType::uint8) value = static_cast<std::uint8_t>(value);
        if (type == DType::int16) value = static_cast<std::int16_t>(value);
        values[i] = value;
        std::memcpy(bytes.data() + i * size_of(type), &value, size_of(type));  // little-endian
      }
      std::vector<float> y(values.size());
      affine_dequantize(x, values.size(), bytes.data(), y.data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double exact =
            static_cast<double>(x.scale) *
            static_cast<double>(std::int64_t{values[i]} - x.zero_point);  // bits beyond 53 are lost there too
        ASSERT_EQ(y[i], static_cast<float>(exact))
            << name_of(type) << ' ' << values[i] << " scale 2^" << exponent;
      }
    }
  }
}

// gemmlowp's product, said once more: the high half of 2xq to nearest, then a shift to nearest, ties away
// from 0.
std::int64_t scaled(std::int64_t x, double real) {
  int exponent = 0;
  const auto q = static_cast<std::int64_t>(std::llround(std::frexp(real, &exponent) * kQ0));
  const double high = std::floor(static_cast<double>(x * q) / kQ0 + 0.5);  // exponent <= 0 here
  return static_cast<std::int64_t>(std::round(std::ldexp(high, exponent)));
}

// TensorFlow Lite's PReLU, from its definition: one multiplier for x >= 0, another one for x times slope.
template <class T>
void check_prelu(const Affine& x_type, const Affine& slope_type, const Affine& y_type, std::size_t slopes) {
  std::mt19937 random(11);
  const auto values = [&](std::size_t count) {
    std::vector<T> out(count);
    for (T& value : out) value = static_cast<T>(random());
    return out;
  };
  const std::vector<T> x = values(60 * slopes), slope = values(slopes);
  AffinePairSpec spec;
  spec.op = AffinePair::prelu;
  spec.count = spec.a_count = x.size();
  spec.b_count = slopes;
  spec.low = lowest(y_type.dtype);
  spec.high = highest(y_type.dtype);
  set_scales(spec, x_type, slope_type, y_type);
  std::vector<T> y(x.size());
  affine_pairs(spec, x.data(), slope.data(), y.data());
  int negative = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t value = x[i] - x_type.zero_point, factor = slope[i % slopes] - slope_type.zero_point;
    const float scale =
        value >= 0 ? x_type.scale / y_type.scale : x_type.scale * slope_type.scale / y_type.scale;
    const std::int64_t expected = scaled(value >= 0 ? value : value * factor, static_cast<double>(scale));
    EXPECT_EQ(y[i], std::clamp<std::int64_t>(expected + y_type.zero_point, spec.low, spec.high)) << i;
    negative += value < 0 ? 1 : 0;
  }
  EXPECT_GT(negative, 10);
}

TEST(Affine, PreluMultipliesWhatIsBelowZero) {
  for (const std::size_t slopes : {1, 3, 8}) {
    check_prelu<std::int8_t>({DType::int8, 0.023f, -9}, {DType::int8, 0.0071f, 17}, {DType::int8, 0.031f, 5},
                             slopes);
    check_prelu<std::int8_t>({DType::int8, 0.01f, 100}, {DType::int8, 0.02f, -128},
                             {DType::int8, 0.05f, -100}, slopes);
    check_prelu<std::int16_t>({DType::int16, 0.0001f, 0}, {DType::int16, 0.00007f, 0},
                              {DType::int16, 0.0002f, 0}, slopes);
  }
}

// Ties, their neighbours, numbers beyond every type, infinity and NaN.
TEST(Affine, ConversionsAreEqualAtEveryLevel) {
  std::mt19937 random(3);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  constexpr float kSpecial[] = {std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN(), 3e9F, 1e-40F, -0.0F};
  for (int repeat = 0; repeat < 3000; ++repeat) {
    const DType types[] = {DType::int8, DType::uint8, DType::int16, DType::int32};
    Affine affine;
    affine.dtype = types[pick(0, 3)];
    affine.scale = pick(0, 1) == 0 ? 0.25F : static_cast<float>(pick(1, 100000)) * 1e-6F;
    affine.zero_point = pick(std::max(lowest(affine.dtype), -40000), std::min(highest(affine.dtype), 40000));
    std::vector<float> x(static_cast<std::size_t>(pick(0, 70)));
    for (float& v : x) {
      v = static_cast<float>(pick(-70000, 70000)) / 2 * affine.scale;
      if (pick(0, 2) == 0) v = std::nextafterf(v, pick(0, 1) == 0 ? 1e9F : -1e9F);
      if (pick(0, 9) == 0) v = kSpecial[pick(0, 4)] * static_cast<float>(pick(0, 1) * 2 - 1);
    }
    const Rounding rounding = pick(0, 1) == 0 ? Rounding::half_even : Rounding::tflite_double;
    const std::size_t bytes = x.size() * size_of(affine.dtype);
    std::vector<std::byte> expected(bytes), found(bytes);
    std::vector<float> back(x.size()), found_back(x.size());
    affine_quantize(affine, rounding, x.size(), x.data(), expected.data());
    affine_dequantize(affine, x.size(), expected.data(), back.data());
    for (const Isa isa : test::ConvCase::levels()) {
      const AffineConversions level = affine_conversions_for(affine.dtype, isa);
      EXPECT_EQ(level.isa == Isa::reference, isa < Isa::avx2 || affine.dtype == DType::int32);
      level.quantize(affine, rounding, x.size(), x.data(), found.data());
      ASSERT_EQ(found, expected) << name_of(affine.dtype);
      level.dequantize(affine, x.size(), expected.data(), found_back.data());
      ASSERT_EQ(found_back, back) << name_of(affine.dtype);
    }
  }
}

// Every level against the specification: all types and operations, scales from tiny to far apart, zero points
// at the ends, one operand repeated, in place.
TEST(Affine, PairsAreEqualAtEveryLevel) {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  int in_vectors = 0;
  for (int repeat = 0; repeat < 4000; ++repeat) {
    AffinePairSpec spec;
    spec.op = static_cast<AffinePair>(pick(0, 6));
    spec.dtype = pick(0, 3) == 0 ? DType::int16 : DType::int8;
    const bool bytes = spec.dtype == DType::int8;
    const auto quantized = [&] {
      const int end = pick(0, 5);
      return Affine{spec.dtype, std::ldexp(1.0F + static_cast<float>(pick(0, 1000)) / 1000, pick(-14, 4)),
                    !bytes     ? 0
                    : end == 0 ? -128
                    : end == 1 ? 127
                               : pick(-128, 127)};
    };
    const Affine a = quantized(), y = quantized();
    Affine b = quantized();
    if (pick(0, 7) == 0) b.scale = a.scale;
    set_scales(spec, a, b, y);
    spec.low = bytes ? -128 : -32768;
    spec.high = bytes ? 127 : 32767;
    if (pick(0, 2) == 0) spec.low = spec.y_zero;
    const int few = pick(1, 40);
    spec.count = static_cast<std::size_t>(few * pick(0, 30));
    spec.a_count = spec.b_count = spec.count;
    if (spec.count > 0 && pick(0, 1) == 0)
      (pick(0, 1) == 0 ? spec.a_count : spec.b_count) = static_cast<std::size_t>(few);
    const std::size_t element = bytes ? 1 : 2;
    const auto noise = [&](std::size_t count) {
      std::vector<std::byte> values(count * element);
      for (std::byte& value : values) value = static_cast<std::byte>(random());
      return values;
    };
    const std::vector<std::byte> left = noise(spec.a_count), right = noise(spec.b_count);
    std::vector<std::byte> expected(spec.count * element + 1);
    affine_pairs(spec, left.data(), right.data(), expected.data());
    for (const Isa isa : test::ConvCase::levels()) {
      const AffinePairs pairs = affine_pairs_for(spec, isa);
      if (pairs == affine_pairs) continue;
      ++in_vectors;
      std::vector<std::byte> found(expected.size());
      pairs(spec, left.data(), right.data(), found.data());
      ASSERT_EQ(found, expected) << repeat << ' ' << static_cast<int>(spec.op) << ' ' << name_of(isa);
      if (spec.a_count != spec.count || spec.count == 0) continue;
      std::copy(left.begin(), left.end(), found.begin());
      pairs(spec, found.data(), right.data(), found.data());
      ASSERT_EQ(found, expected) << repeat << " in place " << name_of(isa);
    }
  }
  if (best_isa() >= Isa::avx2) {
    EXPECT_GT(in_vectors, 1000);
  }
}

}  // namespace
}  // namespace runnel::kernels
