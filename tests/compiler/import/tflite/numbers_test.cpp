// Quantized operators against TensorFlow Lite's arithmetic, stated here once more from its reference kernels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/elementwise/affine_quotient.h"
#include "tests/compiler/import/tflite/tiny_tflite.h"

namespace runnel::test {
namespace {

using tflite::BuiltinOptions;

// gemmlowp: the high 32 bits of 2ab, rounded to nearest, ties away from zero in the product's sign; then a
// right shift, ties away from zero.
std::int32_t scaled(std::int64_t x, double real) {
  int exponent = 0;
  auto q = static_cast<std::int64_t>(std::llround(std::frexp(real, &exponent) * (std::int64_t{1} << 31)));
  if (q == std::int64_t{1} << 31) q /= 2, ++exponent;
  const int left = exponent > 0 ? exponent : 0, right = exponent > 0 ? 0 : -exponent;
  const std::int64_t product = (x << left) * q;
  const std::int64_t high = (product + (product >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30))) /
                            (std::int64_t{1} << 31);
  const std::int64_t mask = (std::int64_t{1} << right) - 1, rest = high & mask,
                     threshold = (mask >> 1) + (high < 0 ? 1 : 0);
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
  const auto x = random_values<std::uint8_t>(kRows * kIn, 0, 255),
             w = random_values<std::uint8_t>(kOut * kIn, 0, 255, 2);
  const auto b = random_values<std::int32_t>(kOut, -20000, 20000, 3);
  TinyTflite model;
  const int tx = model.tensor(kUint8, {kRows, kIn}, xs, x_zero),
            tw = model.tensor(kUint8, {kOut, kIn}, ws, w_zero, w);
  const int tb = model.tensor(kInt32, {kOut}, xs * ws, 0, b),
            ty = model.tensor(kUint8, {kRows, kOut}, ys, y_zero);
  model.op(Builtin::FULLY_CONNECTED, {tx, tw, tb}, {ty}, BuiltinOptions::FullyConnected,
           tflite::CreateFullyConnectedOptions(model.builder()));
  std::vector<std::uint8_t> expected;
  for (int row = 0; row < kRows; ++row) {
    for (int n = 0; n < kOut; ++n) {
      std::int32_t sum = b[static_cast<std::size_t>(n)];
      for (int k = 0; k < kIn; ++k)
        sum += (x[static_cast<std::size_t>(row * kIn + k)] - x_zero) *
               (w[static_cast<std::size_t>(n * kIn + k)] - w_zero);
      const double real =
          static_cast<double>(xs * ws) / static_cast<double>(ys);  // this operator multiplies in float32
      expected.push_back(static_cast<std::uint8_t>(std::clamp(scaled(sum, real) + y_zero, 0, 255)));
    }
  }
  EXPECT_EQ(run<std::uint8_t>(model.file({tx}, {ty}), {bytes_of(x)}), expected);
  EXPECT_NE(*std::ranges::min_element(expected), *std::ranges::max_element(expected));
}

TEST(TfliteUint8, DepthwiseConvolutionsByteForByte) {
  constexpr int kSize = 5, kChannels = 3, x_zero = 7, w_zero = 200, y_zero = 0;
  const float xs = 0.05f, ws = 0.02f, ys = 0.07f;
  const auto x = random_values<std::uint8_t>(kSize * kSize * kChannels, 0, 255, 4),
             w = random_values<std::uint8_t>(9 * kChannels, 0, 255, 5);
  TinyTflite model;
  const int tx = model.tensor(kUint8, {1, kSize, kSize, kChannels}, xs, x_zero),
            tw = model.tensor(kUint8, {1, 3, 3, kChannels}, ws, w_zero, w);
  const int tb = model.tensor<std::int32_t>(kInt32, {kChannels}, xs * ws, 0, {100, -200, 300}),
            ty = model.tensor(kUint8, {1, kSize, kSize, kChannels}, ys, y_zero);
  model.op(Builtin::DEPTHWISE_CONV_2D, {tx, tw, tb}, {ty}, BuiltinOptions::DepthwiseConv2D,
           tflite::CreateDepthwiseConv2DOptions(model.builder(), 0, 1, 1, 1, 3));
  std::vector<std::uint8_t> expected;
  const std::int32_t bias[] = {100, -200, 300};
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      for (int c = 0; c < kChannels; ++c) {
        std::int32_t sum = bias[c];
        for (int i = 0; i < 9; ++i) {
          const int from_row = row + i / 3 - 1, from_column = column + i % 3 - 1;
          if (from_row < 0 || from_row >= kSize || from_column < 0 || from_column >= kSize) continue;
          sum += (x[static_cast<std::size_t>((from_row * kSize + from_column) * kChannels + c)] - x_zero) *
                 (w[static_cast<std::size_t>(i * kChannels + c)] - w_zero);
        }
        const double real = static_cast<double>(xs) * static_cast<double>(ws) / static_cast<double>(ys);
        const int low = y_zero,
                  high = std::min<int>(255, y_zero + static_cast<int>(std::lround(6.0f / ys)));  // ReLU6
        expected.push_back(static_cast<std::uint8_t>(std::clamp(scaled(sum, real) + y_zero, low, high)));
      }
    }
  }
  EXPECT_EQ(run<std::uint8_t>(model.file({tx}, {ty}), {bytes_of(x)}), expected);
}

TEST(TfliteUint8, AveragesRoundTiesUp) {
  TinyTflite model;
  const int x = model.tensor(kUint8, {1, 1, 8, 1}, 0.5f, 128),
            y = model.tensor(kUint8, {1, 1, 4, 1}, 0.5f, 128);
  model.op(Builtin::AVERAGE_POOL_2D, {x}, {y}, BuiltinOptions::Pool2D,
           tflite::CreatePool2DOptions(model.builder(), 1, 2, 1, 2, 1));
  EXPECT_EQ(
      run<std::uint8_t>(model.file({x}, {y}), {bytes_of<std::uint8_t>({0, 1, 100, 101, 127, 128, 254, 255})}),
      (std::vector<std::uint8_t>{1, 101, 128, 255}));
}

TEST(TfliteUint8, SumsAndActivationsBetweenOtherOperators) {
  TinyTflite model;
  const int a = model.tensor(kUint8, {1, 4}, 0.5f, 128), b = model.tensor(kUint8, {1, 4}, 0.25f, 132),
            s = model.tensor(kUint8, {1, 4}, 0.5f, 118), y = model.tensor(kUint8, {4, 1}, 0.5f, 118);
  model.op(Builtin::ADD, {a, b}, {s}, BuiltinOptions::Add,
           tflite::CreateArithmeticOptions(model.builder(), 1));
  model.op(Builtin::RESHAPE, {s}, {y});
  // As AddsNumbersOfUnequalScales of int8, 128 higher.
  EXPECT_EQ(run<std::uint8_t>(model.file({a, b}, {y}), {bytes_of<std::uint8_t>({130, 88, 248, 134}),
                                                        bytes_of<std::uint8_t>({134, 136, 252, 128})}),
            (std::vector<std::uint8_t>{121, 118, 255, 122}));
}

TEST(TfliteInt8, LargerAndSmallerOfTwo) {
  for (const bool larger : {true, false}) {
    TinyTflite model;
    const int a = model.tensor(kInt8, {2, 3}, 0.5f, 7), b = model.tensor(kInt8, {1, 3}, 0.5f, 7),
              y = model.tensor(kInt8, {2, 3}, 0.5f, 7);
    model.op(larger ? Builtin::MAXIMUM : Builtin::MINIMUM, {a, b}, {y});
    const auto found =
        run<std::int8_t>(model.file({a, b}, {y}),
                         {bytes_of<std::int8_t>({-128, 5, 127, 0, 0, 0}), bytes_of<std::int8_t>({-1, 5, 9})});
    EXPECT_EQ(found, larger ? (std::vector<std::int8_t>{-1, 5, 127, 0, 5, 9})
                            : (std::vector<std::int8_t>{-128, 5, 9, -1, 0, 0}));
  }
}

// The quotients of the kernel's own test, with a limit and one divisor per channel; uint8 is computed 128
// lower.
TEST(TfliteInt8, DividesByTheValueOfEachChannel) {
  constexpr int kRows = 40, kChannels = 6, a_zero = -20, b_zero = 5, y_zero = -3;
  const float as = 0.04f, bs = 0.03f, ys = 0.07f;
  const auto a = random_values<std::int8_t>(kRows * kChannels, -128, 127);
  const std::vector<std::int8_t> b{-128, 6, 127, 3, 70, -31};
  kernels::QuotientSpec spec;
  kernels::set_scales(spec, {DType::int8, as, a_zero}, {DType::int8, bs, b_zero}, {DType::int8, ys, y_zero});
  spec.count = spec.a_count = a.size();
  spec.b_count = b.size();
  spec.low = y_zero;
  spec.high = y_zero + static_cast<int>(std::lround(6.0f / ys));  // ReLU6
  std::vector<std::int8_t> expected(a.size());
  kernels::affine_quotients(spec, a.data(), b.data(), expected.data());
  EXPECT_NE(*std::ranges::min_element(expected), *std::ranges::max_element(expected));
  for (const bool is_unsigned : {false, true}) {
    const int shift = is_unsigned ? 128 : 0;
    const Type type = is_unsigned ? kUint8 : kInt8;
    const auto shifted = [&](std::vector<std::int8_t> values) {
      for (auto& value : values) value = static_cast<std::int8_t>(value + shift);
      return values;
    };
    TinyTflite model;
    const int ta = model.tensor(type, {kRows, kChannels}, as, a_zero + shift),
              tb = model.tensor(type, {kChannels}, bs, b_zero + shift, shifted(b)),
              ty = model.tensor(type, {kRows, kChannels}, ys, y_zero + shift);
    model.op(Builtin::DIV, {ta, tb}, {ty}, BuiltinOptions::Div,
             tflite::CreateArithmeticOptions(model.builder(), 3));
    EXPECT_EQ(run<std::int8_t>(model.file({ta}, {ty}), {bytes_of(shifted(a))}), shifted(expected));
  }
}

// Slopes of one channel each; uint8 is computed 128 lower.
TEST(TfliteInt8, PreluMultipliesWhatIsBelowZeroByASlope) {
  constexpr int kRows = 40, kChannels = 5, x_zero = 11, slope_zero = -30, y_zero = -7;
  const float xs = 0.021f, ss = 0.013f, ys = 0.033f;
  const auto x = random_values<std::int8_t>(kRows * kChannels, -128, 127),
             slopes = random_values<std::int8_t>(kChannels, -128, 127, 2);
  std::vector<std::int8_t> expected;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const int value = x[i] - x_zero, slope = slopes[i % kChannels] - slope_zero;
    const int result = value >= 0 ? scaled(value, static_cast<double>(xs / ys))
                                  : scaled(value * slope, static_cast<double>(xs * ss / ys));
    expected.push_back(static_cast<std::int8_t>(std::clamp(result + y_zero, -128, 127)));
  }
  for (const bool is_unsigned : {false, true}) {
    const int shift = is_unsigned ? 128 : 0;
    const Type type = is_unsigned ? kUint8 : kInt8;
    const auto shifted = [&](std::vector<std::int8_t> values) {
      for (auto& value : values) value = static_cast<std::int8_t>(value + shift);
      return values;
    };
    TinyTflite model;
    const int tx = model.tensor(type, {kRows, kChannels}, xs, x_zero + shift),
              ts = model.tensor(type, {kChannels}, ss, slope_zero + shift, shifted(slopes)),
              ty = model.tensor(type, {kRows, kChannels}, ys, y_zero + shift);
    model.op(Builtin::PRELU, {tx, ts}, {ty});
    EXPECT_EQ(run<std::int8_t>(model.file({tx}, {ty}), {bytes_of(shifted(x))}), shifted(expected));
  }
}

TEST(TfliteFloat, Prelu) {
  TinyTflite model;
  const int x = model.tensor<float>(kFloat, {2, 2}, 0, 0), y = model.tensor<float>(kFloat, {2, 2}, 0, 0),
            slopes = model.tensor<float>(kFloat, {2}, 0, 0, {0.5f, -2});
  model.op(Builtin::PRELU, {x, slopes}, {y});
  EXPECT_EQ(run<float>(model.file({x}, {y}), {bytes_of<float>({-4, -4, 3, 0})}),
            (std::vector<float>{-2, 8, 3, 0}));
}

std::vector<std::int8_t> through(Builtin code, float x_scale, int x_zero, float y_scale, int y_zero) {
  TinyTflite model;
  const int x = model.tensor(kInt8, {1, 256}, x_scale, x_zero),
            y = model.tensor(kInt8, {1, 256}, y_scale, y_zero);
  model.op(code, {x}, {y});
  return run<std::int8_t>(model.file({x}, {y}), {bytes_of(every_int8())});
}

TEST(TfliteInt8, AbsScalesWithAMultiplier) {
  const float xs = 0.043f, ys = 0.031f;
  std::vector<std::int8_t> expected;
  for (const int x : every_int8())
    expected.push_back(
        static_cast<std::int8_t>(std::min(127, scaled(std::abs(x + 9), static_cast<double>(xs / ys)) - 100)));
  EXPECT_EQ(through(Builtin::ABS, xs, -9, ys, -100), expected);
}

// The reference fills a table in float32.
TEST(TfliteInt8, FunctionsAreRoundedFromFloat32) {
  struct Case {
    Builtin code;
    float x_scale;
    int x_zero;
    float y_scale;
    int y_zero;
    double (*f)(double);
  };
  for (const Case& c :
       {Case{Builtin::EXP, 0.02f, 0, 0.05f, -128, [](double x) { return std::exp(x); }},
        Case{Builtin::SQRT, 0.07f, -128, 0.02f, -128, [](double x) { return std::sqrt(x); }},
        Case{Builtin::LOG, 0.05f, -129 + 1, 0.03f, 5, [](double x) { return std::log(x); }},
        Case{Builtin::ELU, 0.03f, 12, 0.02f, -78, [](double x) { return x < 0 ? std::expm1(x) : x; }},
        Case{Builtin::NEG, 0.05f, 3, 0.04f, -7, [](double x) { return -x; }}}) {
    const auto found = through(c.code, c.x_scale, c.x_zero, c.y_scale, c.y_zero);
    ASSERT_EQ(found.size(), 256u);
    for (int i = -128; i < 128; ++i) {
      const double value = c.f(static_cast<double>(c.x_scale * static_cast<float>(i - c.x_zero)));
      const double expected = std::clamp(
          std::round(static_cast<double>(static_cast<float>(value) * (1.0f / c.y_scale))) + c.y_zero, -128.0,
          127.0);
      EXPECT_EQ(found[static_cast<std::size_t>(i + 128)], static_cast<int>(expected))
          << static_cast<int>(c.code) << " of " << i;
    }
  }
}

// The reference takes five steps of Newton's method in fixed point: no more than one step from the real
// number.
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
    model.op(Builtin::SOFTMAX, {x}, {y}, BuiltinOptions::Softmax,
             tflite::CreateSoftmaxOptions(model.builder(), beta));
    return run<std::int8_t>(model.file({x}, {y}), {bytes_of(random_values<std::int8_t>(18, -128, 127))});
  };
  EXPECT_EQ(soft(0.03125f, 2.0f), soft(0.0625f, 1.0f));
  EXPECT_NE(soft(0.03125f, 2.0f), soft(0.03125f, 1.0f));
}

TEST(TfliteSoftmax, OfFloatsWithBeta) {
  TinyTflite model;
  const int x = model.tensor(kFloat, {1, 3}, 0, 0), y = model.tensor(kFloat, {1, 3}, 0, 0);
  model.op(Builtin::SOFTMAX, {x}, {y}, BuiltinOptions::Softmax,
           tflite::CreateSoftmaxOptions(model.builder(), 0.5f));
  const auto found = run<float>(model.file({x}, {y}), {bytes_of<float>({2, 0, -4})});
  const double sum = std::exp(1.0) + 1 + std::exp(-2.0);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(found[0], std::exp(1.0) / sum, 1e-6);
  EXPECT_NEAR(found[2], std::exp(-2.0) / sum, 1e-6);
}

// The reference's tables of 513 entries in float32: less half the error of a straight line in the middle of
// each step.
std::vector<std::int32_t> table_of(float scale, int zero, float (*function)(float)) {
  const float first = scale * static_cast<float>(-32768 - zero),
              last = scale * static_cast<float>(32767 - zero), unit = 2.0f / 65535,
              step = (last - first) / 512;
  const float inverse = 65536.0f / (unit * 32767 - unit * -32768);
  std::vector<std::int32_t> table;
  const auto integer = [](float value) {
    return static_cast<std::int32_t>(std::clamp(value, -32768.0f, 32767.0f));
  };
  for (int i = 0; i < 512; ++i) {
    const float x = first + static_cast<float>(i) * step, next = first + static_cast<float>(i + 1) * step;
    const float here = std::round(function(x) * inverse),
                line = std::round((function(next) * inverse + here) / 2);
    table.push_back(integer(here - std::round((line - std::round(function(x + step / 2) * inverse)) / 2)));
  }
  table.push_back(integer(std::round(function(last) * inverse)));
  return table;
}
std::int32_t interpolated(const std::vector<std::int32_t>& table, std::int64_t value) {
  value = std::clamp<std::int64_t>(value, -32768, 32767);
  const auto entry = static_cast<std::size_t>(256 + (value >> 7));
  return table[entry] +
         (((table[entry + 1] - table[entry]) * static_cast<std::int32_t>(value & 127) + 64) >> 7);
}

TEST(TfliteSoftmax, OfSixteenBitsByteForByte) {
  const auto exps = table_of(10.0f / 65535, 32767, [](float x) { return std::exp(x); }),
             fractions = table_of(1.0f / 65535, -32768, [](float x) { return 1 / (1 + x); });
  constexpr std::size_t kRows = 3, kCount = 24;
  struct Case {
    float scale, beta;
    int low, high;
  };
  for (const Case& c : {Case{0.0007f, 1, -9000, 9000}, Case{1.0f / 2048, 1, -32768, 32767},
                        Case{0.00002f, 1, -32768, 32767}, Case{0.0001f, 2.5f, -32768, 32767}}) {
    const auto values = random_values<std::int16_t>(kRows * kCount, c.low, c.high);
    TinyTflite model;
    const int x = model.tensor(kInt16, {kRows, kCount}, c.scale, 0),
              y = model.tensor(kInt16, {kRows, kCount}, 1.0f / 32768, 0);
    model.op(Builtin::SOFTMAX, {x}, {y}, BuiltinOptions::Softmax,
             tflite::CreateSoftmaxOptions(model.builder(), c.beta));
    std::vector<std::int16_t> expected;
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * kCount),
                 end = begin + static_cast<std::ptrdiff_t>(kCount);
      const std::int32_t largest = *std::max_element(begin, end);
      std::vector<std::int32_t> parts;
      std::int64_t sum = 0;
      for (auto value = begin; value != end; ++value) {
        parts.push_back(interpolated(
            exps, scaled(*value - largest,
                         static_cast<double>(c.scale) * static_cast<double>(c.beta) / (10.0 / 65535)) +
                      32767));
        sum += parts.back();
      }
      int bits = 0;  // sum in [2^bits, 2^(bits + 1))
      while ((sum >> (bits + 1)) != 0) ++bits;
      const std::int64_t one_plus_x = ((sum << (30 - bits)) + (1 << 13)) >> 14;
      const std::int64_t reciprocal = interpolated(fractions, one_plus_x - 65536 - 32768);
      for (const std::int32_t part : parts)
        expected.push_back(static_cast<std::int16_t>(std::clamp<std::int64_t>(
            (part * reciprocal + (std::int64_t{1} << (bits - 1))) >> bits, 0, 32767)));
    }
    EXPECT_EQ(run<std::int16_t>(model.file({x}, {y}), {bytes_of(values)}), expected)
        << c.scale << " * " << c.beta;
    EXPECT_NE(*std::ranges::min_element(expected), *std::ranges::max_element(expected));
  }
}

template <class T>
void check_squared_differences(Type type, int a_zero, int b_zero, int y_zero, float a_scale, float b_scale,
                               float y_scale) {
  constexpr int kRows = 5, kCount = 40, left = sizeof(T) == 1 ? 7 : 0;
  const auto a = random_values<T>(kRows * kCount, std::numeric_limits<T>::min(),
                                  std::numeric_limits<T>::max()),
             b = random_values<T>(kCount, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 2);
  TinyTflite model;
  const int ta = model.tensor(type, {kRows, kCount}, a_scale, a_zero),
            tb = model.tensor(type, {1, kCount}, b_scale, b_zero),
            ty = model.tensor(type, {kRows, kCount}, y_scale, y_zero);
  model.op(Builtin::SQUARED_DIFFERENCE, {ta, tb}, {ty});
  const double twice = 2.0 * static_cast<double>(std::max(a_scale, b_scale));
  std::vector<T> expected;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int64_t difference =
        std::int64_t{scaled((a[i] - a_zero) * (1 << left), static_cast<double>(a_scale) / twice)} -
        scaled((b[i % kCount] - b_zero) * (1 << left), static_cast<double>(b_scale) / twice);
    const std::int64_t y =
        std::int64_t{scaled(difference * difference,
                            twice * twice / ((1 << 2 * left) * static_cast<double>(y_scale)))} +
        y_zero;
    expected.push_back(static_cast<T>(
        std::clamp<std::int64_t>(y, std::numeric_limits<T>::min(), std::numeric_limits<T>::max())));
  }
  EXPECT_EQ(run<T>(model.file({ta, tb}, {ty}), {bytes_of(a), bytes_of(b)}), expected);
  EXPECT_NE(*std::ranges::min_element(expected), *std::ranges::max_element(expected));
}

TEST(TfliteSquaredDifference, ByteForByte) {
  check_squared_differences<std::int8_t>(kInt8, 3, -4, -128, 0.05f, 0.025f, 0.37f);
  check_squared_differences<std::int8_t>(kInt8, -128, 127, -128, 0.0131f, 0.0131f, 0.11f);
  check_squared_differences<std::int8_t>(kInt8, 0, 0, 5, 1.7f, 0.9f, 300.0f);
  check_squared_differences<std::int16_t>(kInt16, 0, 0, 0, 0.0003f, 0.0007f, 0.07f);
}

// Sums are exact, then scaled; the largest and the smallest are picked.
TEST(TfliteInt8, ReductionsByteForByte) {
  constexpr int kRows = 6, kCount = 11;
  const float xs = 0.037f, ys = 0.29f;
  for (const Builtin code : {Builtin::SUM, Builtin::REDUCE_MAX, Builtin::REDUCE_MIN}) {
    const bool sums = code == Builtin::SUM;
    const auto values = random_values<std::int8_t>(kRows * kCount, -128, 127);
    TinyTflite model;
    const int x = model.tensor(kInt8, {kRows, kCount}, xs, -9),
              axes = model.tensor<std::int32_t>(kInt32, {1}, 0, 0, {1});
    const int y = model.tensor(kInt8, {kRows}, sums ? ys : xs, sums ? 17 : -9);
    model.op(code, {x, axes}, {y}, BuiltinOptions::Reducer,
             tflite::CreateReducerOptions(model.builder(), false));
    std::vector<std::int8_t> expected;
    for (int row = 0; row < kRows; ++row) {
      const auto begin = values.begin() + row * kCount, end = begin + kCount;
      std::int32_t sum = 0;
      for (auto value = begin; value != end; ++value) sum += *value + 9;
      const std::int32_t scaled_sum =
          std::clamp(scaled(sum, static_cast<double>(xs) / static_cast<double>(ys)) + 17, -128, 127);
      expected.push_back(sums                          ? static_cast<std::int8_t>(scaled_sum)
                         : code == Builtin::REDUCE_MAX ? *std::max_element(begin, end)
                                                       : *std::min_element(begin, end));
    }
    EXPECT_EQ(run<std::int8_t>(model.file({x}, {y}), {bytes_of(values)}), expected) << static_cast<int>(code);
    EXPECT_NE(*std::ranges::min_element(expected), *std::ranges::max_element(expected));
  }
}

TEST(TfliteInt8, ProductsOfMatricesByteForByte) {
  constexpr int kBatch = 2, kRows = 3, kInner = 7, kColumns = 4;
  const float as = 0.021f, bs = 0.037f, ys = 0.09f;
  const int a_zero = -5, b_zero = 11, y_zero = -20;
  const auto a = random_values<std::int8_t>(kBatch * kRows * kInner, -128, 127),
             b = random_values<std::int8_t>(kBatch * kColumns * kInner, -128, 127, 2);
  TinyTflite model;
  const int ta = model.tensor(kInt8, {kBatch, kRows, kInner}, as, a_zero),
            tb = model.tensor(kInt8, {kBatch, kColumns, kInner}, bs, b_zero),
            ty = model.tensor(kInt8, {kBatch, kRows, kColumns}, ys, y_zero);
  model.op(Builtin::BATCH_MATMUL, {ta, tb}, {ty}, BuiltinOptions::BatchMatMul,
           tflite::CreateBatchMatMulOptions(model.builder(), false, true));
  std::vector<std::int8_t> expected;
  for (int i = 0; i < kBatch * kRows; ++i) {
    for (int n = 0; n < kColumns; ++n) {
      std::int32_t sum = 0;
      for (int k = 0; k < kInner; ++k)
        sum += (a[static_cast<std::size_t>(i * kInner + k)] - a_zero) *
               (b[static_cast<std::size_t>((i / kRows * kColumns + n) * kInner + k)] - b_zero);
      expected.push_back(static_cast<std::int8_t>(std::clamp(
          scaled(sum, static_cast<double>(as * bs) / static_cast<double>(ys)) + y_zero, -128, 127)));
    }
  }
  EXPECT_EQ(run<std::int8_t>(model.file({ta, tb}, {ty}), {bytes_of(a), bytes_of(b)}), expected);
  EXPECT_NE(*std::ranges::min_element(expected), *std::ranges::max_element(expected));
}

TEST(TfliteFloat, MatricesAndLargestElements) {
  TinyTflite model;
  const int a = model.tensor(kFloat, {1, 2, 3}, 0, 0), b = model.tensor(kFloat, {1, 2, 3}, 0, 0),
            y = model.tensor(kFloat, {1, 2, 2}, 0, 0), m = model.tensor(kFloat, {1, 2}, 0, 0);
  const int axes = model.tensor<std::int32_t>(kInt32, {1}, 0, 0, {2});
  model.op(Builtin::BATCH_MATMUL, {a, b}, {y}, BuiltinOptions::BatchMatMul,
           tflite::CreateBatchMatMulOptions(model.builder(), false, true));
  model.op(Builtin::REDUCE_MAX, {y, axes}, {m}, BuiltinOptions::Reducer,
           tflite::CreateReducerOptions(model.builder(), false));
  // Rows of a times rows of b: [14 32; 32 77].
  EXPECT_EQ(run<float>(model.file({a, b}, {m}),
                       {bytes_of<float>({1, 2, 3, 4, 5, 6}), bytes_of<float>({1, 2, 3, 4, 5, 6})}),
            (std::vector<float>{32, 77}));
}

}  // namespace
}  // namespace runnel::test
