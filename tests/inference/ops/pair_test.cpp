// Operators on pairs of elements against plain statements of what they compute.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "tests/inference/ops/one_operator.h"

namespace runnel::test {
namespace {

using testing::HasSubstr;
using Rounding = kernels::Rounding;
constexpr Rounding kRoundings[] = {Rounding::half_up, Rounding::half_even};

// Position of output element `i` of shape `y` in an operand of shape `x`, aligned from the right.
std::size_t position(std::size_t i, const Dims& y, const Dims& x) {
  std::size_t at = 0, stride = 1;
  for (std::size_t k = 0; k < y.size(); ++k) {
    const auto dim = static_cast<std::size_t>(y[y.size() - 1 - k]);
    const std::size_t index = i % dim;
    i /= dim;
    if (k >= x.size()) continue;
    const auto own = static_cast<std::size_t>(x[x.size() - 1 - k]);
    at += (own == 1 ? 0 : index) * stride;
    stride *= own;
  }
  return at;
}

struct Shapes {
  Dims a, b, y;
};
// Equal, a row of channels, a scalar, the first operand repeated, crosswise repeated.
const Shapes kShapes[] = {{{1, 9, 6}, {1, 9, 6}, {1, 9, 6}},
                          {{1, 9, 6}, {6}, {1, 9, 6}},
                          {{1, 9, 6}, {1}, {1, 9, 6}},
                          {{1, 1, 6}, {1, 9, 6}, {1, 9, 6}},
                          {{1, 9, 1, 5}, {1, 9, 3, 1}, {1, 9, 3, 5}}};

template <class T>
void check_arithmetic(OpCode code, Arithmetic arithmetic, int ea, int eb, int ey,
                      const std::function<double(double, double)>& value) {
  for (const Shapes& shapes : kShapes) {
    for (const Rounding rounding : kRoundings) {
      OneOperator op;
      op.node(code, {op.input<T>(shapes.a, ea), op.input<T>(shapes.b, eb)}, {op.output<T>(shapes.y, ey)},
              compiler::BinaryOptions{}, arithmetic, rounding);
      auto a = random_integers<T>(elements_of(shapes.a), 1), b = random_integers<T>(elements_of(shapes.b), 2);
      b[0] = 0;
      const auto y = values_of<T>(op.run({bytes_of(a), bytes_of(b)})[0]);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const T p = a[position(i, shapes.y, shapes.a)], q = b[position(i, shapes.y, shapes.b)];
        const double scaled = value(p, q);
        ASSERT_EQ(y[i], saturated<T>(rounded(scaled, rounding)))
            << name_of(code) << ' ' << int{p} << ' ' << int{q};
      }
    }
  }
}

TEST(PairOperators, DivisionOfIntegers) {
  // In float32: the quotient of the integers, then the power of two.
  const auto quotient = [](double p, double q) {
    return p == 0 ? 0 : std::ldexp(static_cast<double>(static_cast<float>(p) / static_cast<float>(q)), 3);
  };
  check_arithmetic<std::int8_t>(OpCode::div, Arithmetic::espdl, -3, -2, -4, quotient);
  check_arithmetic<std::int16_t>(OpCode::div, Arithmetic::espdl, -3, -2, -4, quotient);
}

TEST(PairOperators, RemaindersOfIntegers) {
  const auto fmod = [](double p, double q) { return q == 0 ? 0 : std::fmod(p * 0.125, q * 0.25) * 4; };
  const auto floored = [](double p, double q) {
    return q == 0 ? 0 : (p * 0.125 - std::floor(p * 0.125 / (q * 0.25)) * q * 0.25) * 4;
  };
  check_arithmetic<std::int8_t>(OpCode::mod, Arithmetic::espdl, -3, -2, -2, fmod);
  check_arithmetic<std::int16_t>(OpCode::mod, Arithmetic::espdl, -3, -2, -2, fmod);
  check_arithmetic<std::int8_t>(OpCode::mod, Arithmetic::floored, -3, -2, -2, floored);
  check_arithmetic<std::int16_t>(OpCode::mod, Arithmetic::floored, -3, -2, -2, floored);
}

TEST(PairOperators, PowersOfIntegers) {
  const auto power = [](double p, double q) {
    const double value = std::pow(p / 32, q / 16);
    return std::isnan(value) ? 0 : static_cast<double>(static_cast<float>(value)) * 16;
  };
  check_arithmetic<std::int8_t>(OpCode::pow, Arithmetic::espdl, -5, -4, -4, power);
}

template <class T>
void check_prelu(const Dims& shape, const Dims& slopes_shape) {
  for (const Rounding rounding : kRoundings) {
    OneOperator op;
    const auto slopes = random_integers<T>(elements_of(slopes_shape), 3);
    op.node(OpCode::prelu, {op.input<T>(shape, -4), op.constant<T>(slopes, slopes_shape, -6)},
            {op.output<T>(shape, -3)}, {}, Arithmetic::espdl, rounding);
    const auto x = random_integers<T>(elements_of(shape), 4);
    const auto y = values_of<T>(op.run({bytes_of(x)})[0]);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double slope = std::ldexp(static_cast<double>(slopes[position(i, shape, slopes_shape)]), -6);
      ASSERT_EQ(y[i], saturated<T>(rounded(std::ldexp(x[i] < 0 ? x[i] * slope : x[i], -1), rounding)));
    }
  }
}
TEST(PairOperators, PreluRoundsWithEveryFormOfSlopes) {
  for (const auto& [shape, slopes] : {std::pair<Dims, Dims>{{1, 20, 6}, {6}},
                                      {{1, 20, 6}, {1}},
                                      {{1, 12, 4, 5}, {5}},
                                      {{1, 12, 4, 5}, {4, 1}}}) {
    check_prelu<std::int8_t>(shape, slopes);
    check_prelu<std::int16_t>(shape, slopes);
  }
}

TEST(PairOperators, Floats) {
  using compiler::BinaryOptions;
  const std::pair<OpCode, std::function<float(float, float)>> all[] = {
      {OpCode::add, [](float p, float q) { return p + q; }},
      {OpCode::sub, [](float p, float q) { return p - q; }},
      {OpCode::mul, [](float p, float q) { return p * q; }},
      {OpCode::div, [](float p, float q) { return p / q; }},
      {OpCode::max, [](float p, float q) { return p > q ? p : q; }},
      {OpCode::min, [](float p, float q) { return p < q ? p : q; }},
      {OpCode::mod, [](float p, float q) { return std::fmod(p, q); }},
      {OpCode::prelu, [](float p, float q) { return p < 0 ? p * q : p; }}};
  for (const auto& [code, function] : all) {
    for (const bool relu : {false, true}) {
      for (const Shapes& shapes : kShapes) {
        if (code == OpCode::prelu && (relu || shapes.a != shapes.y)) continue;
        OneOperator op;
        compiler::Options options;
        if (code != OpCode::prelu) options = BinaryOptions{relu ? Activation::relu : Activation::none};
        op.node(code, {op.input<float>(shapes.a), op.input<float>(shapes.b)}, {op.output<float>(shapes.y)},
                options);
        const auto a = random_values<float>(elements_of(shapes.a), -3, 3, 5),
                   b = random_values<float>(elements_of(shapes.b), -3, 3, 6);
        const auto y = values_of<float>(op.run({bytes_of(a), bytes_of(b)})[0]);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const float value =
              function(a[position(i, shapes.y, shapes.a)], b[position(i, shapes.y, shapes.b)]);
          ASSERT_EQ(y[i], relu && value < 0 ? 0 : value) << name_of(code);
        }
      }
    }
  }
}

TEST(PairOperators, PowersOfFloats) {
  const std::vector<float> a = {2, 2, -2, -2, 0, 0, 1.5f, 9, -8, 3, 0, 10},
                           b = {3, -2, 3, 2, 0, 2, 2.5f, 0.5f, 1.0f / 3, 1, -1, 38};
  OneOperator op;
  op.node(OpCode::pow, {op.input<float>({1, 12}), op.input<float>({1, 12})}, {op.output<float>({1, 12})},
          compiler::BinaryOptions{});
  const auto y = values_of<float>(op.run({bytes_of(a), bytes_of(b)})[0]);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto expected = static_cast<float>(std::pow(static_cast<double>(a[i]), static_cast<double>(b[i])));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(y[i])) << i;
    } else {
      EXPECT_EQ(y[i], expected) << i;
    }
  }
}

template <class T>
void check_comparisons(int ea, int eb) {
  const std::pair<OpCode, std::function<bool(double, double)>> all[] = {
      {OpCode::equal, std::equal_to<>()},
      {OpCode::greater, std::greater<>()},
      {OpCode::greater_or_equal, std::greater_equal<>()},
      {OpCode::less, std::less<>()},
      {OpCode::less_or_equal, std::less_equal<>()}};
  for (const auto& [code, function] : all) {
    for (const Shapes& shapes : kShapes) {
      OneOperator op;
      op.node(code, {op.input<T>(shapes.a, ea), op.input<T>(shapes.b, eb)}, {op.output<bool>(shapes.y)});
      const auto a = random_values<T>(elements_of(shapes.a), -8, 8, 7),
                 b = random_values<T>(elements_of(shapes.b), -8, 8, 8);
      const auto y = truths_of(op.run({bytes_of(a), bytes_of(b)})[0]);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double p = std::ldexp(static_cast<double>(a[position(i, shapes.y, shapes.a)]), ea),
                     q = std::ldexp(static_cast<double>(b[position(i, shapes.y, shapes.b)]), eb);
        ASSERT_EQ(y[i], function(p, q)) << name_of(code) << ' ' << p << ' ' << q;
      }
    }
  }
}
TEST(PairOperators, ComparisonsAreExactWhateverTheExponents) {
  check_comparisons<std::int8_t>(-4, -4);
  check_comparisons<std::int8_t>(-4, -2);
  check_comparisons<std::int16_t>(3, -5);
  check_comparisons<std::int16_t>(-60, 60);
  check_comparisons<float>(0, 0);
}

TEST(PairOperators, Logic) {
  const std::pair<OpCode, std::function<bool(bool, bool)>> all[] = {
      {OpCode::logical_and, std::logical_and<>()},
      {OpCode::logical_or, std::logical_or<>()},
      {OpCode::logical_xor, std::not_equal_to<>()},
      {OpCode::equal, std::equal_to<>()}};
  const Bytes a{std::byte{0}, std::byte{0}, std::byte{1}, std::byte{1}, std::byte{2}},
      b{std::byte{0}, std::byte{1}, std::byte{0}, std::byte{1}, std::byte{1}};
  for (const auto& [code, function] : all) {
    OneOperator op;
    op.node(code, {op.input<bool>({1, 5}), op.input<bool>({1, 5})}, {op.output<bool>({1, 5})});
    const Bytes y = op.run({a, b})[0];
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(y[i], std::byte{function(a[i] != std::byte{0}, b[i] != std::byte{0})}) << i;
  }
}

TEST(PairOperators, WrongGraphsAreRefusedInASentence) {
  {
    OneOperator op;
    op.node(OpCode::div, {op.input<float>({1, 4, 2}), op.input<float>({1, 4, 3})},
            {op.output<float>({1, 4, 3})}, compiler::BinaryOptions{});
    EXPECT_THAT(op.refusal(), HasSubstr("dimensions 2 and 3 on axis 2 do not go together"));
  }
  {
    OneOperator op;
    op.node(OpCode::pow, {op.input<float>({1, 4}), op.input<std::int8_t>({1, 4})}, {op.output<float>({1, 4})},
            compiler::BinaryOptions{});
    EXPECT_THAT(op.refusal(), HasSubstr("inputs float32 and int8, expected one type"));
  }
  {
    OneOperator op;
    op.node(OpCode::mod, {op.input<float>({1, 4}), op.input<float>({1, 4})}, {op.output<float>({1, 4})});
    EXPECT_THAT(op.refusal(), HasSubstr("options are missing"));
  }
  {
    OneOperator op;
    op.node(OpCode::less, {op.input<float>({1, 4}), op.input<float>({1, 4})}, {op.output<float>({1, 4})});
    EXPECT_THAT(op.refusal(), HasSubstr("the output is float32, expected bool"));
  }
  {
    OneOperator op;
    op.node(OpCode::logical_or, {op.input<bool>({1, 4}), op.input<float>({1, 4})}, {op.output<bool>({1, 4})});
    EXPECT_THAT(op.refusal(), HasSubstr("expected bool"));
  }
  {
    OneOperator op;
    op.node(OpCode::prelu, {op.input<float>({1, 4}), op.constant<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4})},
            {op.output<float>({1, 4})});
    EXPECT_THAT(op.refusal(), HasSubstr("expected [2,4]"));
  }
  {
    OneOperator op;  // a constant for each frame of a recording of fixed length
    op.node(OpCode::greater, {op.input<float>({1, 4, 2}), op.constant<float>({1, 2, 3, 4}, {1, 4, 1})},
            {op.output<bool>({1, 4, 2})});
    EXPECT_THAT(op.streaming_refusal(), HasSubstr("combines the stream with a constant of 4 frames"));
  }
}

// Plain integers: counters of streams. Sums wrap around, comparisons are exact.
template <class T>
void check_plain() {
  using Unsigned = std::make_unsigned_t<T>;
  for (const Shapes& shapes : kShapes) {
    auto a = random_integers<T>(elements_of(shapes.a), 3), b = random_integers<T>(elements_of(shapes.b), 4);
    b.back() = a.back();
    const auto made = [&](OpCode code, auto result, compiler::Options options) {
      using Y = decltype(result);
      OneOperator op;
      op.node(code, {op.input<T>(shapes.a), op.input<T>(shapes.b)}, {op.output<Y>(shapes.y)},
              std::move(options));
      return op.run({bytes_of(a), bytes_of(b)})[0];
    };
    const auto sums = values_of<T>(made(OpCode::add, T{}, compiler::BinaryOptions{}));
    const auto products = values_of<T>(made(OpCode::mul, T{}, compiler::BinaryOptions{}));
    const auto most = values_of<T>(made(OpCode::max, T{}, compiler::BinaryOptions{}));
    const auto at_most = truths_of(made(OpCode::less_or_equal, bool{}, {}));
    const auto same = truths_of(made(OpCode::equal, bool{}, {}));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const T p = a[position(i, shapes.y, shapes.a)], q = b[position(i, shapes.y, shapes.b)];
      ASSERT_EQ(sums[i], static_cast<T>(static_cast<Unsigned>(p) + static_cast<Unsigned>(q)));
      ASSERT_EQ(products[i], static_cast<T>(static_cast<Unsigned>(p) * static_cast<Unsigned>(q)));
      ASSERT_EQ(most[i], std::max(p, q));
      ASSERT_EQ(at_most[i], p <= q);
      ASSERT_EQ(same[i], p == q);
    }
  }
}
TEST(PairOperators, PlainIntegersOf32And64Bits) {
  check_plain<std::int32_t>();
  check_plain<std::int64_t>();
  OneOperator op;
  op.node(OpCode::less, {op.input<std::int32_t>({4}), op.input<std::int64_t>({4})}, {op.output<bool>({4})});
  EXPECT_THAT(op.refusal(), HasSubstr("int32"));
}

}  // namespace
}  // namespace runnel::test
