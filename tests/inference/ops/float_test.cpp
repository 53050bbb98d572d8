// Convolutions, pools and clamps in float32: blocks of a stream have the bits of the whole clip, values those
// of plain loops.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/inference/ops/one_operator.h"

namespace runnel::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct ConvCase {
  Dims x, w;
  compiler::ConvOptions options;
  bool bias;
};

compiler::ConvOptions conv_options(int stride, int dilation, int left, int right, int groups,
                                   bool relu = false) {
  compiler::ConvOptions o;
  o.stride_width = stride;
  o.dilation_width = dilation;
  o.pad_left = left;
  o.pad_right = right;
  o.groups = groups;
  o.activation = relu ? Activation::relu : Activation::none;
  return o;
}

// In double: how far a float32 result may be off follows from the sum of sizes.
void check_conv(const ConvCase& c) {
  const auto at = [](const Dims& shape, std::size_t k) { return static_cast<std::int64_t>(shape[k]); };
  const auto& o = c.options;
  const bool two = c.x.size() == 4;
  const std::int64_t in_height = two ? at(c.x, 1) : 1, in_width = at(c.x, c.x.size() - 2),
                     channels = c.x.back();
  const auto length = [](std::int64_t in, std::int64_t before, std::int64_t after, std::int64_t kernel,
                         std::int64_t dilation, std::int64_t stride) {
    return (in + before + after - ((kernel - 1) * dilation + 1)) / stride + 1;
  };
  const std::int64_t out_height =
      two ? length(in_height, o.pad_top, o.pad_bottom, c.w[1], o.dilation_height, o.stride_height) : 1;
  const std::int64_t out_width =
                         length(in_width, o.pad_left, o.pad_right, c.w[2], o.dilation_width, o.stride_width),
                     outputs = c.w[0];
  Dims shape = c.x;
  if (two) shape[1] = static_cast<std::int32_t>(out_height);
  shape[c.x.size() - 2] = static_cast<std::int32_t>(out_width);
  shape.back() = static_cast<std::int32_t>(outputs);

  const auto x = random_values<float>(elements_of(c.x), -1, 1, 1),
             w = random_values<float>(elements_of(c.w), -1, 1, 2),
             b = random_values<float>(static_cast<std::size_t>(outputs), -1, 1, 3);
  OneOperator op;
  op.node(OpCode::conv,
          {op.input<float>(c.x), op.constant<float>(w, c.w),
           c.bias ? op.constant<float>(b, {c.w[0]}) : compiler::kAbsent},
          {op.output<float>(shape)}, o);
  const auto y = values_of<float>(op.run({bytes_of(x)})[0]);
  ASSERT_EQ(y.size(), elements_of(shape));
  const std::int64_t group_in = channels / o.groups, group_out = outputs / o.groups;
  std::size_t i = 0;
  for (std::int64_t r = 0; r < out_height; ++r) {
    for (std::int64_t q = 0; q < out_width; ++q) {
      for (std::int64_t n = 0; n < outputs; ++n, ++i) {
        double sum = c.bias ? b[static_cast<std::size_t>(n)] : 0, size = std::abs(sum);
        for (std::int64_t kr = 0; kr < c.w[1]; ++kr) {
          for (std::int64_t kc = 0; kc < c.w[2]; ++kc) {
            const std::int64_t row = r * o.stride_height - o.pad_top + kr * o.dilation_height,
                               column = q * o.stride_width - o.pad_left + kc * o.dilation_width;
            if (row < 0 || row >= in_height || column < 0 || column >= in_width) continue;
            for (std::int64_t k = 0; k < group_in; ++k) {
              const double term =
                  static_cast<double>(x[static_cast<std::size_t>((row * in_width + column) * channels +
                                                                 n / group_out * group_in + k)]) *
                  static_cast<double>(
                      w[static_cast<std::size_t>(((n * c.w[1] + kr) * c.w[2] + kc) * group_in + k)]);
              sum += term;
              size += std::abs(term);
            }
          }
        }
        if (o.activation == Activation::relu) sum = std::max(sum, 0.0);
        ASSERT_NEAR(y[i], sum, size * 3e-6) << i;
      }
    }
  }
}

TEST(FloatOperators, Convolution) {
  check_conv({{1, 20, 5}, {7, 1, 3, 5}, conv_options(1, 1, 2, 0, 1), true});        // causal
  check_conv({{1, 20, 5}, {7, 1, 3, 5}, conv_options(1, 2, 2, 2, 1, true), true});  // symmetric, dilated
  check_conv({{1, 21, 4}, {8, 1, 4, 4}, conv_options(2, 1, 3, 1, 1), false});       // strided
  check_conv({{1, 20, 6}, {6, 1, 5, 1}, conv_options(1, 1, 4, 0, 6), true});        // depthwise
  check_conv(
      {{1, 20, 6}, {12, 1, 3, 1}, conv_options(1, 1, 1, 1, 6), true});  // depthwise with two outputs each
  check_conv({{1, 20, 6}, {9, 1, 3, 2}, conv_options(1, 1, 1, 1, 3, true), false});  // three groups
  check_conv({{1, 20, 40}, {33, 1, 1, 40}, conv_options(1, 1, 0, 0, 1), true});      // pointwise
  compiler::ConvOptions two = conv_options(1, 1, 1, 1, 1);
  two.pad_top = 2;
  check_conv({{1, 12, 7, 3}, {4, 3, 3, 3}, two, true});  // time is height
  two.stride_height = 2;
  two.stride_width = 2;
  check_conv({{1, 12, 7, 3}, {4, 3, 3, 3}, two, true});
}

TEST(FloatOperators, FullyConnected) {
  const auto x = random_values<float>(9 * 5, -1, 1, 1), w = random_values<float>(3 * 5, -1, 1, 2);
  OneOperator op;
  op.node(
      OpCode::fully_connected,
      {op.input<float>({1, 9, 5}), op.constant<float>(w, {3, 5}), op.constant<float>({0.5f, -0.5f, 0}, {3})},
      {op.output<float>({1, 9, 3})}, compiler::FullyConnectedOptions{Activation::relu});
  const auto y = values_of<float>(op.run({bytes_of(x)})[0]);
  for (std::size_t i = 0; i < y.size(); ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < 5; ++k) sum = std::fma(x[i / 3 * 5 + k], w[i % 3 * 5 + k], sum);
    sum += i % 3 == 0 ? 0.5f : i % 3 == 1 ? -0.5f : 0;
    EXPECT_EQ(y[i], std::max(sum, 0.0f));
  }
}

TEST(FloatOperators, WeightsMustBeFinite) {
  OneOperator op;
  op.node(OpCode::fully_connected,
          {op.input<float>({1, 4, 1}), op.constant<float>({std::numeric_limits<float>::infinity()}, {1, 1}),
           compiler::kAbsent},
          {op.output<float>({1, 4, 1})}, compiler::FullyConnectedOptions{});
  EXPECT_THAT(op.refusal(), HasSubstr("weight 0 of output 0 is not finite"));
}

TEST(FloatOperators, Pools) {
  for (const bool count_padding : {true, false}) {
    for (const auto code : {OpCode::average_pool, OpCode::max_pool}) {
      OneOperator op;
      compiler::PoolOptions o;
      o.kernel_width = 3;
      o.stride_width = 2;
      o.pad_left = 1;
      o.pad_right = 1;
      o.count_padding = count_padding;
      op.node(code, {op.input<float>({1, 11, 3})}, {op.output<float>({1, 6, 3})}, o);
      const auto x = random_values<float>(33, -1, 1, 5);
      const auto y = values_of<float>(op.run({bytes_of(x)})[0]);
      for (int i = 0; i < 6; ++i) {
        for (int c = 0; c < 3; ++c) {
          float sum = 0, high = -10;
          int count = 0;
          for (int k = 0; k < 3; ++k) {
            const int at = i * 2 - 1 + k;
            if (at < 0 || at >= 11) continue;
            sum += x[static_cast<std::size_t>(at * 3 + c)];
            high = std::max(high, x[static_cast<std::size_t>(at * 3 + c)]);
            ++count;
          }
          EXPECT_EQ(y[static_cast<std::size_t>(i * 3 + c)],
                    code == OpCode::max_pool ? high : sum / static_cast<float>(count_padding ? 3 : count));
        }
      }
    }
  }
}

TEST(FloatOperators, ReluAndClip) {
  const std::vector<float> x = {-2, -0.5f, 0, 0.5f, 2, 7};
  OneOperator relu;
  relu.node(OpCode::relu, {relu.input<float>({1, 6})}, {relu.output<float>({1, 6})});
  EXPECT_THAT(values_of<float>(relu.run({bytes_of(x)})[0]), ElementsAre(0, 0, 0, 0.5f, 2, 7));
  OneOperator clip;
  clip.node(OpCode::clip, {clip.input<float>({1, 6})}, {clip.output<float>({1, 6})},
            compiler::ClipOptions{0, 0, -1, 1.5f});
  EXPECT_THAT(values_of<float>(clip.run({bytes_of(x)})[0]), ElementsAre(-1, -0.5f, 0, 0.5f, 1.5f, 1.5f));
  OneOperator wrong;
  wrong.node(OpCode::clip, {wrong.input<float>({1, 6})}, {wrong.output<float>({1, 6})},
             compiler::ClipOptions{0, 0, 1, -1});
  EXPECT_THAT(wrong.refusal(), HasSubstr("float32 bounds are the wrong way round"));
}

TEST(FloatOperators, Movement) {
  const auto x = random_values<float>(24, -1, 1, 9);
  OneOperator op;
  const auto padded = op.tensor(DType::float32, {1, 9, 4}), turned = op.tensor(DType::float32, {1, 9, 2, 2});
  compiler::PadOptions pad;
  pad.before = {0, 2, 0};
  pad.after = {0, 1, 0};
  pad.real_value = 2.5f;
  op.node(OpCode::pad, {op.input<float>({1, 6, 4})}, {padded}, pad);
  op.node(OpCode::reshape, {padded}, {turned});
  op.node(OpCode::transpose, {turned}, {op.output<float>({1, 9, 2, 2})},
          compiler::TransposeOptions{{0, 1, 3, 2}});
  const auto y = values_of<float>(op.run({bytes_of(x)})[0]);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t frame = i / 4, from = (i % 2) * 2 + i / 2 % 2;
    EXPECT_EQ(y[i], frame < 2 || frame == 8 ? 2.5f : x[(frame - 2) * 4 + from]);
  }
}

}  // namespace
}  // namespace runnel::test
