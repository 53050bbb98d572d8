// Functions of one value against the C library in double precision.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "kernels/elementwise/functions.h"
#include "tests/inference/ops/one_operator.h"

namespace runnel::test {
namespace {

using testing::HasSubstr;

struct Case {
  OpCode code;
  std::function<double(double)> function;
  compiler::Options options;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<Case> cases() {
  using compiler::FunctionOptions;
  return {
      {OpCode::abs, [](double x) { return std::abs(x); }, {}},
      {OpCode::neg, [](double x) { return -x; }, {}},
      {OpCode::exp, [](double x) { return std::exp(x); }, {}},
      {OpCode::log, [](double x) { return std::log(x); }, {}},
      {OpCode::sqrt, [](double x) { return std::sqrt(x); }, {}},
      {OpCode::sigmoid, sigmoid, {}},
      {OpCode::tanh, [](double x) { return std::tanh(x); }, {}},
      {OpCode::swish, [](double x) { return x * sigmoid(x); }, {}},
      {OpCode::hard_sigmoid, [](double x) { return std::min(1.0, std::max(0.0, 0.25f * x + 0.5)); },
       FunctionOptions{0.25f, 0.5f}},
      {OpCode::hard_swish, [](double x) { return x * std::min(1.0, std::max(0.0, x / 6 + 0.5)); }, {}},
      {OpCode::gelu, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, FunctionOptions{}},
      {OpCode::gelu,
       [](double x) {
         return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
       },
       FunctionOptions{0, 0, true}},
      {OpCode::elu, [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); }, FunctionOptions{1.5f}},
      {OpCode::leaky_relu, [](double x) { return x >= 0 ? x : 0.125 * x; }, FunctionOptions{0.125f}},
      {OpCode::mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, {}},
      {OpCode::softplus, [](double x) { return std::log1p(std::exp(x)); }, {}},
      {OpCode::erf, [](double x) { return std::erf(x); }, {}},
      {OpCode::swoosh, [](double x) { return std::log1p(std::exp(x - 2)) - 0.125 * x + 0.5; },
       FunctionOptions{2, 0.125f, false, -0.5f}},
  };
}

// Where there are vector kernels in float32 (kernels/float32/float_kernels.h) three units in the last place,
// else the nearest float or its neighbour.
TEST(FunctionOperators, FloatsAreCloseToExact) {
  for (const Case& one : cases()) {
    const bool in_floats = one.code == OpCode::exp || one.code == OpCode::sigmoid ||
                           one.code == OpCode::tanh || one.code == OpCode::swish;
    const double relative = in_floats ? 3.6e-7 : 6.1e-8;
    // Its terms cancel: what counts is the largest one, of at most 8 here.
    const double absolute = one.code == OpCode::swoosh ? 8 * 4.8e-7 : 2e-14;
    OneOperator op;
    op.node(one.code, {op.input<float>({1, 50, 8})}, {op.output<float>({1, 50, 8})}, one.options);
    auto x = random_values<float>(400, -9, 9, 1);
    for (std::size_t i = 0; i < 100; ++i) x[i] *= 1e-4f;
    const auto y = values_of<float>(op.run({bytes_of(x)})[0]);
    ASSERT_EQ(y.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = one.function(x[i]);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(y[i])) << name_of(one.code) << '(' << x[i] << ')';
      } else {
        EXPECT_NEAR(y[i], expected, std::abs(expected) * relative + absolute)
            << name_of(one.code) << '(' << x[i] << ')';
      }
    }
  }
}

TEST(FunctionOperators, EndsOfTheNumberRange) {
  const auto value = [](kernels::Function function, float x) {
    return kernels::evaluate({function, 1, 0}, x);
  };
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  using kernels::Function;
  EXPECT_EQ(value(Function::exp, infinity), infinity);
  EXPECT_EQ(value(Function::exp, -infinity), 0);
  EXPECT_EQ(value(Function::exp, 89), infinity);
  EXPECT_EQ(value(Function::exp, 0), 1);
  EXPECT_EQ(value(Function::log, 0), -infinity);
  EXPECT_EQ(value(Function::log, infinity), infinity);
  EXPECT_EQ(value(Function::sigmoid, -infinity), 0);
  EXPECT_EQ(value(Function::sigmoid, infinity), 1);
  EXPECT_EQ(value(Function::tanh, infinity), 1);
  EXPECT_EQ(value(Function::tanh, -infinity), -1);
  EXPECT_EQ(value(Function::swish, -infinity), 0);
  EXPECT_EQ(value(Function::mish, -infinity), 0);
  EXPECT_EQ(value(Function::gelu, -infinity), 0);
  EXPECT_EQ(value(Function::gelu_tanh, -1e30f), 0);
  EXPECT_EQ(value(Function::softplus, 1e30f), 1e30f);
  EXPECT_EQ(value(Function::elu, -infinity), -1);
  for (const Function function :
       {Function::exp, Function::log, Function::sqrt, Function::sigmoid, Function::tanh, Function::swish,
        Function::gelu, Function::gelu_tanh, Function::elu, Function::mish, Function::softplus, Function::erf,
        Function::hard_swish}) {
    EXPECT_TRUE(std::isnan(value(function, nan))) << static_cast<int>(function);
  }
}

// Every integer of the type, so that ties and saturation occur.
template <class T>
void check_integers(int x_exponent, int y_exponent) {
  std::vector<T> x;
  for (int i = std::numeric_limits<T>::min(); i <= std::numeric_limits<T>::max(); ++i)
    x.push_back(static_cast<T>(i));
  const auto frames = static_cast<std::int32_t>(x.size() / 64);
  for (const auto rounding : {kernels::Rounding::half_up, kernels::Rounding::half_even}) {
    for (const Case& one : cases()) {
      OneOperator op;
      op.node(one.code, {op.input<T>({1, frames, 64}, x_exponent)},
              {op.output<T>({1, frames, 64}, y_exponent)}, one.options, Arithmetic::espdl, rounding);
      const auto y = values_of<T>(op.run({bytes_of(x)})[0]);
      ASSERT_EQ(y.size(), x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto real = static_cast<float>(one.function(std::ldexp(static_cast<double>(x[i]), x_exponent)));
        ASSERT_EQ(y[i], saturated<T>(rounded(std::ldexp(static_cast<double>(real), -y_exponent), rounding)))
            << name_of(one.code) << '(' << x[i] << ')';
      }
    }
  }
}
TEST(FunctionOperators, Int8) { check_integers<std::int8_t>(-4, -5); }
TEST(FunctionOperators, Int16) { check_integers<std::int16_t>(-12, -13); }

TEST(FunctionOperators, BetweenTypes) {
  OneOperator op;
  op.node(OpCode::sqrt, {op.input<std::int8_t>({1, 4, 2}, -2)}, {op.output<float>({1, 4, 2})});
  const auto y = values_of<float>(op.run({bytes_of<std::int8_t>({0, 4, 16, 36, 64, 100, 1, 9})})[0]);
  EXPECT_EQ(y, (std::vector<float>{0, 1, 2, 3, 4, 5, 0.5f, 1.5f}));
}

TEST(FunctionOperators, WrongGraphsAreRefusedInASentence) {
  {
    OneOperator op;
    op.node(OpCode::elu, {op.input<float>({1, 4, 2})}, {op.output<float>({1, 4, 2})});
    EXPECT_THAT(op.refusal(), HasSubstr("options are missing"));
  }
  {
    OneOperator op;
    op.node(OpCode::exp, {op.input<float>({1, 4, 2})}, {op.output<float>({1, 4, 3})});
    EXPECT_THAT(op.refusal(), HasSubstr("the output has shape [1,4,3], expected [1,4,2]"));
  }
  {
    OneOperator op;
    op.node(OpCode::tanh, {op.input<std::int32_t>({1, 4, 2})}, {op.output<float>({1, 4, 2})});
    EXPECT_THAT(op.refusal(), HasSubstr("the input is int32, expected int8 or int16"));
  }
  {
    OneOperator op;
    op.node(OpCode::leaky_relu, {op.input<float>({1, 4, 2})}, {op.output<float>({1, 4, 2})},
            compiler::FunctionOptions{std::numeric_limits<float>::infinity()});
    EXPECT_THAT(op.refusal(), HasSubstr("not finite"));
  }
}

}  // namespace
}  // namespace runnel::test
