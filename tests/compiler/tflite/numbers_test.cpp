// Quantized operators against TensorFlow Lite's arithmetic, stated here once more from its reference kernels.
#include <algorithm>
#include <cmath>
#include <random>

#include "tests/compiler/tflite/tiny_tflite.h"

namespace runnel::test {
namespace {

using tflite::BuiltinOptions;

// gemmlowp: the high 32 bits of 2ab, rounded to nearest, ties away from zero in the product's sign; then a right shift, ties away from zero.
std::int32_t scaled(std::int64_t x, double real) {
  int exponent = 0;
  auto q = static_cast<std::int64_t>(std::llround(std::frexp(real, &exponent) * (std::int64_t{1} << 31)));
  if (q == std::int64_t{1} << 31) q /= 2, ++exponent;
  const int left = exponent > 0 ? exponent : 0, right = exponent > 0 ? 0 : -exponent;
  const std::int64_t product = (x << left) * q;
  const std::int64_t high = (product + (product >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30))) / (std::int64_t{1} << 31);
  const std::int64_t mask = (std::int64_t{1} << right) - 1, rest = high & mask, threshold = (mask >> 1) + (high < 0 ? 1 : 0);
  return static_cast<std::int32_t>((high >> right) + (rest > threshold ? 1 : 0));
}

template <class T>
std::vector<T> random_values(std::size_t count, int low, int high, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(std::uniform_int_distribution(low, high)(random));
  return values;
}
std::vector<std::int8_t> every_int8() {
  std::vector<std::int8_t> values;
  for (int i = -128; i < 128; ++i) values.push_back(static_cast<std::int8_t>(i));
  return values;
}

// Weights of the first generation have any zero point.
TEST(TfliteUint8, DenseLayersByteForByte) {
  constexpr int kIn = 24, kOut = 7, kRows = 3, x_zero = 113, w_zero = 141, y_zero = 98;
  const float xs = 0.0371f, ws = 0.0119f, ys = 0.117f;
  const auto x = random_values<std::uint8_t>(kRows * kIn, 0, 255), w = random_values<std::uint8_t>(kOut * kIn, 0, 255, 2);
  const auto b = random_values<std::int32_t>(kOut, -20000, 20000, 3);
  TinyTflite model;
  const int tx = model.tensor(kUint8, {kRows, kIn}, xs, x_zero), tw = model.tensor(kUint8, {kOut, kIn}, ws, w_zero, w);
  const int tb = model.tensor(kInt32, {kOut}, xs * ws, 0, b), ty = model.tensor(kUint8, {kRows, kOut}, ys, y_zero);
  model.op(Builtin::FULLY_CONNECTED, {tx, tw, tb}, {ty}, BuiltinOptions::FullyConnected, tflite::CreateFullyConnectedOptions(model.builder()));
  std::vector<std::uint8_t> expected;
  for (int row = 0; row < kRows; ++row) {
    for (int n = 0; n < kOut; ++n) {
      std::int32_t sum = b[static_cast<std::size_t>(n)];
      for (int k = 0; k < kIn; ++k) sum += (x[static_cast<std::size_t>(row * kIn + k)] - x_zero) * (w[static_cast<std::size_t>(n * kIn + k)] - w_zero);
      const double real = static_cast<double>(xs * ws) / static_cast<double>(ys);   // this operator multiplies in float32
      expected.push_back(static_cast<std::uint8_t>(std::clamp(scaled(sum, real) + y_zero, 0, 255)));
    }
  }
  EXPECT_EQ(run<std::uint8_t>(model.file({tx}, {ty}), {bytes_of(x)}), expected);
  EXPECT_NE(*std::ranges::min_element(expected), *std::ranges::max_element(expected));
}

TEST(TfliteUint8, DepthwiseConvolutionsByteForByte) {
  constexpr int kSize = 5, kChannels = 3, x_zero = 7, w_zero = 200, y_zero = 0;
  const float xs = 0.05f, ws = 0.02f, ys = 0.07f;
  const auto x = random_values<std::uint8_t>(kSize * kSize * kChannels, 0, 255, 4), w = random_values<std::uint8_t>(9 * kChannels, 0, 255, 5);
  TinyTflite model;
  const int tx = model.tensor(kUint8, {1, kSize, kSize, kChannels}, xs, x_zero), tw = model.tensor(kUint8, {1, 3, 3, kChannels}, ws, w_zero, w);
  const int tb = model.tensor<std::int32_t>(kInt32, {kChannels}, xs * ws, 0, {100, -200, 300}), ty = model.tensor(kUint8, {1, kSize, kSize, kChannels}, ys, y_zero);
  model.op(Builtin::DEPTHWISE_CONV_2D, {tx, tw, tb}, {ty}, BuiltinOptions::DepthwiseConv2D, tflite::CreateDepthwiseConv2DOptions(model.builder(), 0, 1, 1, 1, 3));
  std::vector<std::uint8_t> expected;
  const std::int32_t bias[] = {100, -200, 300};
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      for (int c = 0; c < kChannels; ++c) {
        std::int32_t sum = bias[c];
        for (int i = 0; i < 9; ++i) {
          const int from_row = row + i / 3 - 1, from_column = column + i % 3 - 1;
          if (from_row < 0 || from_row >= kSize || from_column < 0 || from_column >= kSize) continue;
          sum += (x[static_cast<std::size_t>((from_row * kSize + from_column) * kChannels + c)] - x_zero) * (w[static_cast<std::size_t>(i * kChannels + c)] - w_zero);
        }
        const double real = static_cast<double>(xs) * static_cast<double>(ws) / static_cast<double>(ys);
        const int low = y_zero, high = std::min<int>(255, y_zero + static_cast<int>(std::lround(6.0f / ys)));   // ReLU6
        expected.push_back(static_cast<std::uint8_t>(std::clamp(scaled(sum, real) + y_zero, low, high)));
      }
    }
  }
  EXPECT_EQ(run<std::uint8_t>(model.file({tx}, {ty}), {bytes_of(x)}), expected);
}

TEST(TfliteUint8, AveragesRoundTiesUp) {
  TinyTflite model;
  const int x = model.tensor(kUint8, {1, 1, 8, 1}, 0.5f, 128), y = model.tensor(kUint8, {1, 1, 4, 1}, 0.5f, 128);
  model.op(Builtin::AVERAGE_POOL_2D, {x}, {y}, BuiltinOptions::Pool2D, tflite::CreatePool2DOptions(model.builder(), 1, 2, 1, 2, 1));
  EXPECT_EQ(run<std::uint8_t>(model.file({x}, {y}), {bytes_of<std::uint8_t>({0, 1, 100, 101, 127, 128, 254, 255})}), (std::vector<std::uint8_t>{1, 101, 128, 255}));
}

TEST(TfliteUint8, SumsAndActivationsBetweenOtherOperators) {
  TinyTflite model;
  const int a = model.tensor(kUint8, {1, 4}, 0.5f, 128), b = model.tensor(kUint8, {1, 4}, 0.25f, 132), s = model.tensor(kUint8, {1, 4}, 0.5f, 118), y = model.tensor(kUint8, {4, 1}, 0.5f, 118);
  model.op(Builtin::ADD, {a, b}, {s}, BuiltinOptions::Add, tflite::CreateArithmeticOptions(model.builder(), 1));
  model.op(Builtin::RESHAPE, {s}, {y});
  // As AddsNumbersOfUnequalScales of int8, 128 higher.
  EXPECT_EQ(run<std::uint8_t>(model.file({a, b}, {y}), {bytes_of<std::uint8_t>({130, 88, 248, 134}), bytes_of<std::uint8_t>({134, 136, 252, 128})}),
            (std::vector<std::uint8_t>{121, 118, 255, 122}));
}

TEST(TfliteInt8, LargerAndSmallerOfTwo) {
  for (const bool larger : {true, false}) {
    TinyTflite model;
    const int a = model.tensor(kInt8, {2, 3}, 0.5f, 7), b = model.tensor(kInt8, {1, 3}, 0.5f, 7), y = model.tensor(kInt8, {2, 3}, 0.5f, 7);
    model.op(larger ? Builtin::MAXIMUM : Builtin::MINIMUM, {a, b}, {y});
    const auto found = run<std::int8_t>(model.file({a, b}, {y}), {bytes_of<std::int8_t>({-128, 5, 127, 0, 0, 0}), bytes_of<std::int8_t>({-1, 5, 9})});
    EXPECT_EQ(found, larger ? (std::vector<std::int8_t>{-1, 5, 127, 0, 5, 9}) : (std::vector<std::int8_t>{-128, 5, 9, -1, 0, 0}));
  }
}

std::vector<std::int8_t> through(Builtin code, float x_scale, int x_zero, float y_scale, int y_zero) {
  TinyTflite model;
  const int x = model.tensor(kInt8, {1, 256}, x_scale, x_zero), y = model.tensor(kInt8, {1, 256}, y_scale, y_zero);
  model.op(code, {x}, {y});
  return run<std::int8_t>(model.file({x}, {y}), {bytes_of(every_int8())});
}

TEST(TfliteInt8, AbsScalesWithAMultiplier) {
  const float xs = 0.043f, ys = 0.031f;
  std::vector<std::int8_t> expected;
  for (const int x : every_int8()) expected.push_back(static_cast<std::int8_t>(std::min(127, scaled(std::abs(x + 9), static_cast<double>(xs / ys)) - 100)));
  EXPECT_EQ(through(Builtin::ABS, xs, -9, ys, -100), expected);
}

// The reference fills a table in float32.
TEST(TfliteInt8, FunctionsAreRoundedFromFloat32) {
  struct Case { Builtin code; float x_scale; int x_zero; float y_scale; int y_zero; double (*f)(double); };
  for (const Case& c : {Case{Builtin::EXP, 0.02f, 0, 0.05f, -128, [](double x) { return std::exp(x); }}, Case{Builtin::SQRT, 0.07f, -128, 0.02f, -128, [](double x) { return std::sqrt(x); }},
                        Case{Builtin::LOG, 0.05f, -129 + 1, 0.03f, 5, [](double x) { return std::log(x); }}, Case{Builtin::NEG, 0.05f, 3, 0.04f, -7, [](double x) { return -x; }}}) {
    const auto found = through(c.code, c.x_scale, c.x_zero, c.y_scale, c.y_zero);
    ASSERT_EQ(found.size(), 256u);
    for (int i = -128; i < 128; ++i) {
      const double value = c.f(static_cast<double>(c.x_scale * static_cast<float>(i - c.x_zero)));
      const double expected = std::clamp(std::round(static_cast<double>(static_cast<float>(value) * (1.0f / c.y_scale))) + c.y_zero, -128.0, 127.0);
      EXPECT_EQ(found[static_cast<std::size_t>(i + 128)], static_cast<int>(expected)) << static_cast<int>(c.code) << " of " << i;
    }
  }
}

// The reference takes five steps of Newton's method in fixed point: no more than one step from the real number.
TEST(TfliteInt8, InverseRoots) {
  const float xs = 0.02f, ys = 0.031f;
  const auto found = through(Builtin::RSQRT, xs, -128, ys, -128);
  ASSERT_EQ(found.size(), 256u);
  EXPECT_EQ(found[0], 127);
  for (int i = 1; i < 256; ++i) {
    const double real = 1 / std::sqrt(static_cast<double>(xs) * i) / static_cast<double>(ys) - 128;
    EXPECT_NEAR(found[static_cast<std::size_t>(i)], std::min(127.0, real), 1.0) << i;
  }
}

// 2 x with scale s is x with scale 2 s.
TEST(TfliteSoftmax, BetaIsAFactorOfTheScale) {
  const auto soft = [](float scale, float beta) {
    TinyTflite model;
    const int x = model.tensor(kInt8, {2, 9}, scale, 3), y = model.tensor(kInt8, {2, 9}, 1.0f / 256, -128);
    model.op(Builtin::SOFTMAX, {x}, {y}, BuiltinOptions::Softmax, tflite::CreateSoftmaxOptions(model.builder(), beta));
    return run<std::int8_t>(model.file({x}, {y}), {bytes_of(random_values<std::int8_t>(18, -128, 127))});
  };
  EXPECT_EQ(soft(0.03125f, 2.0f), soft(0.0625f, 1.0f));
  EXPECT_NE(soft(0.03125f, 2.0f), soft(0.03125f, 1.0f));
}

TEST(TfliteSoftmax, OfFloatsWithBeta) {
  TinyTflite model;
  const int x = model.tensor(kFloat, {1, 3}, 0, 0), y = model.tensor(kFloat, {1, 3}, 0, 0);
  model.op(Builtin::SOFTMAX, {x}, {y}, BuiltinOptions::Softmax, tflite::CreateSoftmaxOptions(model.builder(), 0.5f));
  const auto found = run<float>(model.file({x}, {y}), {bytes_of<float>({2, 0, -4})});
  const double sum = std::exp(1.0) + 1 + std::exp(-2.0);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(found[0], std::exp(1.0) / sum, 1e-6);
  EXPECT_NEAR(found[2], std::exp(-2.0) / sum, 1e-6);
}

// Through float32: rounded once.
TEST(TfliteThroughFloats, SoftmaxOfSixteenBitsAndSquaredDifferences) {
  const float xs = 0.0007f;
  const auto values = random_values<std::int16_t>(8, -9000, 9000);
  TinyTflite model;
  const int x = model.tensor(kInt16, {1, 8}, xs, 0), y = model.tensor(kInt16, {1, 8}, 1.0f / 32768, 0);
  model.op(Builtin::SOFTMAX, {x}, {y}, BuiltinOptions::Softmax, tflite::CreateSoftmaxOptions(model.builder(), 1.0f));
  const auto found = run<std::int16_t>(model.file({x}, {y}), {bytes_of(values)});
  double sum = 0;
  for (const int value : values) sum += std::exp(static_cast<double>(xs) * value);
  ASSERT_EQ(found.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(found[i], std::exp(static_cast<double>(xs) * values[i]) / sum * 32768, 0.51) << i;

  TinyTflite pair;
  const int a = pair.tensor(kInt8, {1, 3}, 0.5f, 3), b = pair.tensor(kInt8, {1, 3}, 0.25f, -4), d = pair.tensor(kInt8, {1, 3}, 2.0f, -128);
  pair.op(Builtin::SQUARED_DIFFERENCE, {a, b}, {d});
  // Values 10, -2, 0 and 1, 1, 1: 81, 9, 1 in steps of 2 from -128, halves away from zero.
  EXPECT_EQ(run<std::int8_t>(pair.file({a, b}, {d}), {bytes_of<std::int8_t>({23, -1, 3}), bytes_of<std::int8_t>({0, 0, 0})}), (std::vector<std::int8_t>{-87, -123, -127}));
}

TEST(TfliteFloat, MatricesAndLargestElements) {
  TinyTflite model;
  const int a = model.tensor(kFloat, {1, 2, 3}, 0, 0), b = model.tensor(kFloat, {1, 2, 3}, 0, 0), y = model.tensor(kFloat, {1, 2, 2}, 0, 0), m = model.tensor(kFloat, {1, 2}, 0, 0);
  const int axes = model.tensor<std::int32_t>(kInt32, {1}, 0, 0, {2});
  model.op(Builtin::BATCH_MATMUL, {a, b}, {y}, BuiltinOptions::BatchMatMul, tflite::CreateBatchMatMulOptions(model.builder(), false, true));
  model.op(Builtin::REDUCE_MAX, {y, axes}, {m}, BuiltinOptions::Reducer, tflite::CreateReducerOptions(model.builder(), false));
  // Rows of a times rows of b: [14 32; 32 77].
  EXPECT_EQ(run<float>(model.file({a, b}, {m}), {bytes_of<float>({1, 2, 3, 4, 5, 6}), bytes_of<float>({1, 2, 3, 4, 5, 6})}), (std::vector<float>{32, 77}));
}

}  // namespace
}  // namespace runnel::test
