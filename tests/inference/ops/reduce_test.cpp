// Reductions of integers and floats against plain statements in long double.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/inference/ops/one_operator.h"

namespace runnel::test {
namespace {

using testing::HasSubstr;
using Rounding = kernels::Rounding;

const OpCode kAll[] = {OpCode::reduce_mean,      OpCode::reduce_sum,     OpCode::reduce_max,
                       OpCode::reduce_min,       OpCode::reduce_l1,      OpCode::reduce_l2,
                       OpCode::reduce_prod,      OpCode::reduce_log_sum, OpCode::reduce_log_sum_exp,
                       OpCode::reduce_sum_square};

double reduced(OpCode code, const std::vector<double>& x) {
  long double sum = 0, squares = 0, sizes = 0, product = 1, powers = 0, low = x[0], high = x[0];
  for (const double v : x) {
    sum += v;
    squares += static_cast<long double>(v) * v;
    sizes += std::abs(v);
    product *= v;
    low = std::min<long double>(low, v);
    high = std::max<long double>(high, v);
  }
  for (const double v : x) powers += std::exp(static_cast<long double>(v) - high);
  switch (code) {
    case OpCode::reduce_mean:
      return static_cast<double>(sum / static_cast<long double>(x.size()));
    case OpCode::reduce_sum:
      return static_cast<double>(sum);
    case OpCode::reduce_max:
      return static_cast<double>(high);
    case OpCode::reduce_min:
      return static_cast<double>(low);
    case OpCode::reduce_l1:
      return static_cast<double>(sizes);
    case OpCode::reduce_l2:
      return static_cast<double>(std::sqrt(squares));
    case OpCode::reduce_prod:
      return static_cast<double>(product);
    case OpCode::reduce_log_sum:
      return static_cast<double>(std::log(sum));
    case OpCode::reduce_log_sum_exp:
      return static_cast<double>(high + std::log(powers));
    default:
      return static_cast<double>(squares);
  }
}

// Elements of [1, 8, 3, 4] that go into each result, for the axes given.
std::vector<std::vector<double>> groups(const std::vector<double>& x, const std::vector<std::uint8_t>& axes) {
  const std::size_t dims[] = {1, 8, 3, 4};
  std::vector<std::vector<double>> out;
  std::vector<std::size_t> place(x.size());
  std::size_t count = 1;
  for (std::size_t k = 0; k < 4; ++k) {
    if (std::find(axes.begin(), axes.end(), k) == axes.end()) count *= dims[k];
  }
  out.resize(count);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t rest = i, at = 0, stride = 1;
    for (std::size_t k = 4; k-- > 0;) {
      const std::size_t index = rest % dims[k];
      rest /= dims[k];
      if (std::find(axes.begin(), axes.end(), k) != axes.end()) continue;
      at += index * stride;
      stride *= dims[k];
    }
    out[at].push_back(x[i]);
  }
  return out;
}

template <class T>
void check(int x_exponent, int y_exponent, double low, double high) {
  const std::vector<std::uint8_t> all_axes[] = {{3}, {2}, {2, 3}, {1}, {0, 1, 2, 3}};
  for (const OpCode code : kAll) {
    for (const auto& axes : all_axes) {
      Dims to = {1, 8, 3, 4};
      bool over_time = false;
      for (const std::uint8_t axis : axes) {
        to[axis] = 1;
        over_time = over_time || axis == 1;
      }
      for (const Rounding rounding : {Rounding::half_up, Rounding::half_even}) {
        OneOperator op;
        op.node(code, {op.input<T>({1, 8, 3, 4}, x_exponent)}, {op.output<T>(to, y_exponent)},
                compiler::ReduceOptions{axes}, Arithmetic::espdl, rounding);
        const auto x = random_values<T>(96, low, high, 3);
        const auto y = values_of<T>(op.run({bytes_of(x)}, !over_time)[0]);
        std::vector<double> real;
        for (const T v : x)
          real.push_back(std::is_same_v<T, float> ? static_cast<double>(v)
                                                  : std::ldexp(static_cast<double>(v), x_exponent));
        const auto expected = groups(real, axes);
        ASSERT_EQ(y.size(), expected.size());
        for (std::size_t i = 0; i < y.size(); ++i) {
          const double value = reduced(code, expected[i]);
          if constexpr (std::is_same_v<T, float>) {
            if (std::isnan(value)) {
              ASSERT_TRUE(std::isnan(y[i]));
            } else {
              ASSERT_NEAR(y[i], value, std::abs(value) * 1.2e-7 + 1e-45) << name_of(code);
            }
          } else {
            const bool real_valued = code == OpCode::reduce_mean || code == OpCode::reduce_l2 ||
                                     code == OpCode::reduce_prod || code == OpCode::reduce_log_sum ||
                                     code == OpCode::reduce_log_sum_exp;
            const double before = real_valued ? static_cast<double>(static_cast<float>(value)) : value;
            ASSERT_EQ(y[i], saturated<T>(rounded(std::ldexp(before, -y_exponent), rounding)))
                << name_of(code) << ' ' << i;
          }
        }
      }
    }
  }
}
TEST(Reductions, Int8) { check<std::int8_t>(-5, -4, -128, 128); }
TEST(Reductions, Int16) { check<std::int16_t>(-12, -10, -32768, 32768); }
TEST(Reductions, Float32) { check<float>(0, 0, -1, 1.2); }

TEST(Reductions, WrongGraphsAreRefusedInASentence) {
  {
    OneOperator op;
    op.node(OpCode::reduce_l2, {op.input<float>({1, 4, 3})}, {op.output<float>({1, 4, 1})},
            compiler::ReduceOptions{});
    EXPECT_THAT(op.refusal(), HasSubstr("no axes to reduce over"));
  }
  {
    OneOperator op;
    op.node(OpCode::reduce_prod, {op.input<float>({1, 4, 3})}, {op.output<float>({1, 4, 1})},
            compiler::ReduceOptions{{7}});
    EXPECT_THAT(op.refusal(), HasSubstr("axis 7, expected 0 to 2"));
  }
  {
    OneOperator op;
    op.node(OpCode::reduce_l1, {op.input<float>({1, 4, 3})}, {op.output<float>({1, 4, 2})},
            compiler::ReduceOptions{{2}});
    EXPECT_THAT(op.refusal(), HasSubstr("the output has 8 elements, expected 4"));
  }
  {
    OneOperator op;
    op.node(OpCode::reduce_log_sum, {op.input<float>({1, 4, 3})}, {op.output<float>({1, 1, 3})},
            compiler::ReduceOptions{{1}});
    EXPECT_THAT(op.streaming_refusal(), HasSubstr("reduces over the whole recording"));
  }
}

}  // namespace
}  // namespace runnel::test
