// Where, cast, not, arg_max and top_k.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "tests/inference/ops/one_operator.h"

namespace runnel::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ChoiceOperators, WherePicksAndMovesToTheOutputsScale) {
  OneOperator op;
  const Dims shape = {1, 6, 2};
  op.node(OpCode::where,
          {op.input<bool>({1, 6, 1}), op.input<std::int8_t>(shape, -2),
           op.constant<std::int8_t>({7, -9}, {2}, -4)},
          {op.output<std::int8_t>(shape, -3)});
  const auto y = values_of<std::int8_t>(
      op.run({bytes_of<bool>({true, false, true, false, false, true}),
              bytes_of<std::int8_t>({1, 2, 3, 4, 100, -100, 7, 8, 9, 10, 11, 12})})[0]);
  EXPECT_THAT(y, ElementsAre(2, 4, 4, -4, 127, -128, 4, -4, 4, -4, 22, 24));  // 7/2 and -9/2 round up
}

TEST(ChoiceOperators, WhereOfFloatsAndIndices) {
  OneOperator floats;
  floats.node(OpCode::where,
              {floats.input<bool>({1, 3}), floats.input<float>({1, 3}), floats.input<float>({1, 3})},
              {floats.output<float>({1, 3})});
  EXPECT_THAT(values_of<float>(floats.run({bytes_of<bool>({true, false, true}), bytes_of<float>({1, 2, 3}),
                                           bytes_of<float>({4, 5, 6})})[0]),
              ElementsAre(1, 5, 3));
  OneOperator indices;
  indices.node(
      OpCode::where,
      {indices.input<bool>({1, 3}), indices.input<std::int64_t>({1, 3}), indices.input<std::int64_t>({1, 3})},
      {indices.output<std::int64_t>({1, 3})});
  EXPECT_THAT(values_of<std::int64_t>(
                  indices.run({bytes_of<bool>({false, false, true}), bytes_of<std::int64_t>({1, 2, 3}),
                               bytes_of<std::int64_t>({4, 5, 1LL << 40})})[0]),
              ElementsAre(4, 5, 3));
}

template <class From, class To>
std::vector<To> cast(const std::vector<From>& x) {
  OneOperator op;
  const auto count = static_cast<std::int32_t>(x.size());
  op.node(OpCode::cast, {op.input<From>({1, count})}, {op.output<To>({1, count})});
  return values_of<To>(op.run({bytes_of(x)})[0]);
}
TEST(ChoiceOperators, CastsSaturateAndCutTowardsZero) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT((cast<float, std::int32_t>(
                  {1.9f, -1.9f, 3e9f, -3e9f, infinity, -infinity, std::nanf(""), 2147483648.0f})),
              ElementsAre(1, -1, 2147483647, -2147483648LL, 2147483647, -2147483648LL, 0, 2147483647));
  EXPECT_THAT((cast<std::int32_t, std::int8_t>({5, 300, -300})), ElementsAre(5, 127, -128));
  EXPECT_THAT((cast<std::int64_t, float>({1LL << 40, -3})), ElementsAre(1099511627776.0f, -3.0f));
  EXPECT_THAT((cast<float, std::int64_t>({1e30f, -2.5f})), ElementsAre(9223372036854775807LL, -2));
  EXPECT_THAT((cast<bool, float>({true, false})), ElementsAre(1, 0));
}

TEST(ChoiceOperators, CastToBoolAndNot) {
  OneOperator op;
  const auto truth = op.tensor(DType::boolean, {1, 4});
  op.node(OpCode::cast, {op.input<std::int8_t>({1, 4}, -3)}, {truth});
  op.node(OpCode::logical_not, {truth}, {op.output<bool>({1, 4})});
  EXPECT_THAT(truths_of(op.run({bytes_of<std::int8_t>({0, 1, -128, 0})})[0]),
              ElementsAre(true, false, false, true));
}

TEST(ChoiceOperators, ArgMaxTakesTheFirstOfEquals) {
  OneOperator op;
  op.node(OpCode::arg_max, {op.input<std::int8_t>({1, 3, 4}, -3)}, {op.output<std::int32_t>({1, 3, 1})},
          compiler::AxisOptions{2});
  EXPECT_THAT(
      values_of<std::int32_t>(op.run({bytes_of<std::int8_t>({1, 5, 5, 2, -1, -2, -3, -4, 0, 0, 0, 7})})[0]),
      ElementsAre(1, 0, 3));
  OneOperator middle;  // an axis in the middle, 64-bit indices, NaN is worse than everything
  middle.node(OpCode::arg_max, {middle.input<float>({1, 2, 3, 2})},
              {middle.output<std::int64_t>({1, 2, 1, 2})}, compiler::AxisOptions{2});
  const float nan = std::nanf("");
  EXPECT_THAT(
      values_of<std::int64_t>(middle.run({bytes_of<float>({1, 9, 2, 8, 0, 7, nan, 1, -5, 2, -4, 2})})[0]),
      ElementsAre(1, 0, 2, 1));
}

template <class T>
void check_top_k(bool smallest, std::int32_t k) {
  constexpr std::int32_t kFrames = 5, kCount = 13;
  OneOperator op;
  op.node(OpCode::top_k, {op.input<T>({1, kFrames, kCount}, -3)},
          {op.output<T>({1, kFrames, k}, -3), op.output<std::int32_t>({1, kFrames, k})},
          compiler::TopKOptions{2, smallest});
  const auto x = random_values<T>(kFrames * kCount, -6, 6, 11);  // many equal ones
  const auto outputs = op.run({bytes_of(x)});
  const auto values = values_of<T>(outputs[0]);
  const auto indices = values_of<std::int32_t>(outputs[1]);
  for (std::int32_t f = 0; f < kFrames; ++f) {
    const T* row = x.data() + f * kCount;
    std::vector<std::int32_t> order(kCount);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return smallest ? row[a] < row[b] : row[a] > row[b]; });
    for (std::int32_t i = 0; i < k; ++i) {
      EXPECT_EQ(indices[static_cast<std::size_t>(f * k + i)], order[static_cast<std::size_t>(i)]);
      EXPECT_EQ(values[static_cast<std::size_t>(f * k + i)], row[order[static_cast<std::size_t>(i)]]);
    }
  }
}
TEST(ChoiceOperators, TopKIsAStableSort) {
  for (const std::int32_t k : {1, 4, 13}) {
    for (const bool smallest : {false, true}) {
      check_top_k<std::int8_t>(smallest, k);
      check_top_k<std::int16_t>(smallest, k);
      check_top_k<float>(smallest, k);
    }
  }
}

TEST(ChoiceOperators, WrongGraphsAreRefusedInASentence) {
  {
    OneOperator op;
    op.node(OpCode::where, {op.input<float>({1, 3}), op.input<float>({1, 3}), op.input<float>({1, 3})},
            {op.output<float>({1, 3})});
    EXPECT_THAT(op.refusal(), HasSubstr("the condition is float32, expected bool"));
  }
  {
    OneOperator op;
    op.node(OpCode::cast, {op.input<std::int8_t>({1, 3}, -4)}, {op.output<float>({1, 3})});
    EXPECT_THAT(op.refusal(), HasSubstr("quantize, dequantize and requantize change scales"));
  }
  {
    OneOperator op;
    op.node(OpCode::arg_max, {op.input<float>({1, 3})}, {op.output<std::int32_t>({1, 1})},
            compiler::AxisOptions{2});
    EXPECT_THAT(op.refusal(), HasSubstr("axis 2, expected 0 to 1"));
  }
  {
    OneOperator op;
    op.node(OpCode::arg_max, {op.input<float>({1, 3})}, {op.output<float>({1, 1})}, compiler::AxisOptions{1});
    EXPECT_THAT(op.refusal(), HasSubstr("the indices are float32, expected int32 or int64"));
  }
  {
    OneOperator op;
    op.node(OpCode::top_k, {op.input<float>({1, 3})},
            {op.output<float>({1, 4}), op.output<std::int32_t>({1, 4})}, compiler::TopKOptions{1});
    EXPECT_THAT(op.refusal(), HasSubstr("takes 4 of 3 elements"));
  }
  {
    OneOperator op;
    op.node(OpCode::arg_max, {op.input<float>({1, 3, 2})}, {op.output<std::int32_t>({1, 1, 2})},
            compiler::AxisOptions{1});
    EXPECT_THAT(op.streaming_refusal(), HasSubstr("searches the whole recording; give it a window"));
  }
}

}  // namespace
}  // namespace runnel::test
