// Matrix products and softmax.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/inference/ops/one_operator.h"

namespace runnel::test {
namespace {

using testing::HasSubstr;
using Rounding = kernels::Rounding;

struct Sizes {
  Dims a, b, y;
  bool fixed_b;  // b is a constant
  bool streams;
};
const Sizes kSizes[] = {
    {{1, 9, 5}, {5, 7}, {1, 9, 7}, true, true},  // time is the rows of a
    {{1, 9, 5}, {1, 5, 33}, {1, 9, 33}, true, true},
    {{1, 9, 2, 3}, {1, 9, 3, 4}, {1, 9, 2, 4}, false, true},  // time is a leading axis of both
    {{9, 2, 3}, {1, 3, 17}, {9, 2, 17}, true, true},          // b is repeated over time
    {{1, 2, 4, 3}, {3, 1, 3, 5}, {3, 2, 4, 5}, true, true},   // both repeat the other's batch
    {{2, 64}, {64, 2}, {2, 2}, true, true}};

template <class T>
std::vector<double> product(const std::vector<T>& a, const std::vector<T>& b, const Sizes& s) {
  const auto dim = [](const Dims& shape, std::size_t back) {
    return static_cast<std::size_t>(back < shape.size() ? shape[shape.size() - 1 - back] : 1);
  };
  const std::size_t rows = dim(s.y, 1), columns = dim(s.y, 0), inner = dim(s.a, 0);
  std::vector<double> y(elements_of(s.y), 0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t column = i % columns, row = i / columns % rows;
    std::size_t batch = i / columns / rows, at_a = 0, at_b = 0, stride_a = rows * inner,
                stride_b = inner * columns;
    for (std::size_t k = 2; k < s.y.size(); ++k) {
      const std::size_t index = batch % dim(s.y, k);
      batch /= dim(s.y, k);
      at_a += (dim(s.a, k) == 1 ? 0 : index) * stride_a;
      at_b += (dim(s.b, k) == 1 ? 0 : index) * stride_b;
      stride_a *= dim(s.a, k);
      stride_b *= dim(s.b, k);
    }
    for (std::size_t k = 0; k < inner; ++k) {
      const double term = static_cast<double>(a[at_a + row * inner + k]) *
                          static_cast<double>(b[at_b + k * columns + column]);
      // float32 operators add floats in this order.
      if (std::is_same_v<T, float>)
        y[i] = static_cast<float>(static_cast<float>(y[i]) + static_cast<float>(term));
      else
        y[i] += term;
    }
  }
  return y;
}

template <class T>
void check_integers(int shift, bool per_column) {
  for (const Sizes& s : kSizes) {
    if (per_column && !s.fixed_b) continue;
    for (const Rounding rounding : {Rounding::half_up, Rounding::half_even}) {
      for (const auto activation : {Activation::none, Activation::relu}) {
        OneOperator op;
        const auto a = random_integers<T>(elements_of(s.a), 1), b = random_integers<T>(elements_of(s.b), 2);
        const auto left = op.input<T>(s.a, -3);
        const auto right = s.fixed_b ? op.constant<T>(b, s.b, -5) : op.input<T>(s.b, -5);
        const std::size_t columns = static_cast<std::size_t>(s.b.back());
        if (per_column) {
          auto& tensor = op.graph.tensors[static_cast<std::size_t>(right)];
          tensor.exponents.clear();
          for (std::size_t n = 0; n < columns; ++n)
            tensor.exponents.push_back(static_cast<std::int8_t>(-5 - static_cast<int>(n % 3)));
          tensor.channel_axis = static_cast<int>(s.b.size()) - 1;
        }
        op.node(OpCode::matmul, {left, right}, {op.output<T>(s.y, shift - 8)},
                compiler::FullyConnectedOptions{activation}, Arithmetic::espdl, rounding);
        std::vector<Bytes> inputs = {bytes_of(a)};
        if (!s.fixed_b) inputs.push_back(bytes_of(b));
        const auto y = values_of<T>(op.run(inputs, s.streams)[0]);
        const auto sums = product(a, b, s);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const int more = per_column ? static_cast<int>(i % columns % 3) : 0;
          const double value = rounded(std::ldexp(sums[i], -shift - more), rounding);
          ASSERT_EQ(y[i], saturated<T>(activation == Activation::relu ? std::max(value, 0.0) : value)) << i;
        }
      }
    }
  }
}
TEST(Matmul, IntegersAreExactSumsRoundedOnce) {
  check_integers<std::int8_t>(8, false);
  check_integers<std::int16_t>(17, false);
}
TEST(Matmul, OneScalePerColumn) {
  check_integers<std::int8_t>(7, true);
  check_integers<std::int16_t>(16, true);
}
TEST(Matmul, NegativeShiftsSaturate) { check_integers<std::int8_t>(-2, false); }

TEST(Matmul, FloatsAddInOrder) {
  for (const Sizes& s : kSizes) {
    OneOperator op;
    const auto a = random_values<float>(elements_of(s.a), -1, 1, 1),
               b = random_values<float>(elements_of(s.b), -1, 1, 2);
    op.node(OpCode::matmul,
            {op.input<float>(s.a), s.fixed_b ? op.constant<float>(b, s.b) : op.input<float>(s.b)},
            {op.output<float>(s.y)}, compiler::FullyConnectedOptions{});
    std::vector<Bytes> inputs = {bytes_of(a)};
    if (!s.fixed_b) inputs.push_back(bytes_of(b));
    const auto y = values_of<float>(op.run(inputs, s.streams)[0]);
    const auto expected = product(a, b, s);
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], static_cast<float>(expected[i])) << i;
  }
}

TEST(Matmul, WrongGraphsAreRefusedInASentence) {
  {
    OneOperator op;
    op.node(OpCode::matmul, {op.input<float>({1, 4, 3}), op.input<float>({1, 5, 2})},
            {op.output<float>({1, 4, 2})}, compiler::FullyConnectedOptions{});
    EXPECT_THAT(op.refusal(), HasSubstr("the second input has 5 rows, expected the first one's 3 columns"));
  }
  {
    OneOperator op;
    op.node(OpCode::matmul, {op.input<float>({1, 4, 3}), op.input<float>({3})}, {op.output<float>({1, 4, 1})},
            compiler::FullyConnectedOptions{});
    EXPECT_THAT(op.refusal(), HasSubstr("expected at least 2"));
  }
  {
    OneOperator op;
    op.node(OpCode::matmul, {op.input<std::int8_t>({1, 4, 3}), op.input<std::int16_t>({1, 3, 2})},
            {op.output<std::int8_t>({1, 4, 2})}, compiler::FullyConnectedOptions{});
    EXPECT_THAT(op.refusal(), HasSubstr("inputs int8 and int16, output int8, expected one type"));
  }
  {
    OneOperator op;  // attention: every frame with every frame
    op.node(OpCode::matmul, {op.input<float>({1, 6, 3}), op.input<float>({1, 3, 6})},
            {op.output<float>({1, 6, 6})}, compiler::FullyConnectedOptions{});
    compiler::WriteOptions options;
    options.time_axes = {1, 2};
    const auto written = compiler::write_model(op.graph, options);
    ASSERT_TRUE(written.ok()) << written.status().text();
    ASSERT_FALSE(written->refusals.empty());
    EXPECT_THAT(written->refusals[0], HasSubstr("attention over all frames"));
  }
}

template <class T>
void check_softmax(int axis, int exponent, bool logarithm) {
  const Dims shape = {1, 6, 5, 4};
  for (const bool to_float : {true, false}) {
    if (!to_float && std::is_same_v<T, float>) continue;
    OneOperator op;
    const auto x_id = op.input<T>(shape, exponent);
    const int y_exponent = logarithm ? -2 : -7;
    const auto y_id = to_float ? op.output<float>(shape) : op.output<T>(shape, y_exponent);
    op.node(logarithm ? OpCode::log_softmax : OpCode::softmax, {x_id}, {y_id}, compiler::AxisOptions{axis});
    const auto x = std::is_same_v<T, float> ? random_values<T>(120, -90, 90, 1)
                                            : random_values<T>(120, std::numeric_limits<T>::lowest(),
                                                               std::numeric_limits<T>::max(), 1);
    const Bytes bytes = op.run({bytes_of(x)}, axis != 1)[0];
    std::size_t count = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]), inner = 1;
    for (std::size_t k = static_cast<std::size_t>(axis) + 1; k < 4; ++k)
      inner *= static_cast<std::size_t>(shape[k]);
    const double scale = std::is_same_v<T, float> ? 1 : std::ldexp(1.0, exponent);
    for (std::size_t i = 0; i < 120; ++i) {
      const std::size_t first = i / (count * inner) * count * inner + i % inner;
      // Of the logarithm near 0, sums of all that include the largest keep too little.
      double others = 0, largest = -1e300;
      bool seen = false;
      for (std::size_t k = 0; k < count; ++k)
        largest = std::max(largest, static_cast<double>(x[first + k * inner]) * scale);
      for (std::size_t k = 0; k < count; ++k) {
        const double difference = static_cast<double>(x[first + k * inner]) * scale - largest;
        if (difference == 0 && !seen)
          seen = true;
        else
          others += std::exp(difference);
      }
      const double log = static_cast<double>(x[i]) * scale - largest - std::log1p(others),
                   expected = logarithm ? log : std::exp(log);
      if (to_float) {
        ASSERT_NEAR(values_of<float>(bytes)[i], expected, std::abs(expected) * 1e-6 + 1e-38) << i;
      } else {
        ASSERT_EQ(
            values_of<T>(bytes)[i],
            saturated<T>(rounded(std::ldexp(static_cast<double>(static_cast<float>(expected)), -y_exponent),
                                 Rounding::half_up)))
            << i;
      }
    }
  }
}
TEST(Softmax, SubtractsTheMaximumWhateverTheScale) {
  for (const int axis : {1, 2, 3}) {
    for (const bool logarithm : {false, true}) {
      check_softmax<std::int8_t>(axis, -4, logarithm);
      check_softmax<std::int8_t>(axis, 3, logarithm);  // exp(1016) would be infinite
      check_softmax<std::int16_t>(axis, -12, logarithm);
      check_softmax<float>(axis, 0, logarithm);
    }
  }
}

TEST(Softmax, WrongGraphsAreRefusedInASentence) {
  {
    OneOperator op;
    op.node(OpCode::softmax, {op.input<float>({1, 4, 3})}, {op.output<float>({1, 4, 3})},
            compiler::AxisOptions{3});
    EXPECT_THAT(op.refusal(), HasSubstr("axis 3, expected 0 to 2"));
  }
  {
    OneOperator op;
    op.node(OpCode::softmax, {op.input<float>({1, 4, 3})}, {op.output<float>({1, 4, 3})});
    EXPECT_THAT(op.refusal(), HasSubstr("options are missing"));
  }
  {
    OneOperator op;
    op.node(OpCode::log_softmax, {op.input<float>({1, 4, 3})}, {op.output<float>({1, 4, 3})},
            compiler::AxisOptions{1});
    EXPECT_THAT(op.streaming_refusal(), HasSubstr("sums over the whole recording"));
  }
}

}  // namespace
}  // namespace runnel::test
