// Each family of operators against numbers that were worked out apart.
#include <gmock/gmock.h>

#include <cmath>

#include "inference/host/check.h"
#include "tests/compiler/import/onnx/graph_maker.h"

namespace runnel {
namespace {

using test::Dims;
using test::Floats;
using test::OnnxMaker;
using test::ramp;
using test::set;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

// y[n][t] = b[n] + sum w[n][c][k] x[c][t * stride + k * dilation - before]
Floats conv1d(const Floats& x, std::size_t channels, const Floats& w, std::size_t outputs, std::size_t kernel,
              const Floats& bias, int stride, int dilation, int before, int after) {
  const int length = static_cast<int>(x.size() / channels),
            extent = (static_cast<int>(kernel) - 1) * dilation + 1;
  const int frames = (length + before + after - extent) / stride + 1;
  Floats y;
  for (std::size_t n = 0; n < outputs; ++n) {
    for (int t = 0; t < frames; ++t) {
      float sum = bias[n];
      for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t k = 0; k < kernel; ++k) {
          const int at = t * stride + static_cast<int>(k) * dilation - before;
          if (at >= 0 && at < length)
            sum += w[(n * channels + c) * kernel + k] *
                   x[c * static_cast<std::size_t>(length) + static_cast<std::size_t>(at)];
        }
      }
      y.push_back(sum);
    }
  }
  return y;
}

TEST(OnnxConvert, ConvWithPaddingInFront) {
  OnnxMaker maker;
  maker.input("x", {1, 2, 7})
      .output("y")
      .floats("w", {3, 2, 2}, ramp(12, -5, 1))
      .floats("b", {3}, {1, 2, 3})
      .integers("pads", {6}, {0, 0, 3, 0, 0, 1});
  maker.node("Pad", {"x", "pads"}, {"p"});
  auto& conv = maker.node("Conv", {"p", "w", "b"}, {"y"});
  set(conv, "strides", Dims{2});
  set(conv, "dilations", Dims{3});
  set(conv, "pads", Dims{1, 0});
  const Floats x = ramp(14, -3);
  EXPECT_EQ(maker.run({x})[0], conv1d(x, 2, ramp(12, -5, 1), 3, 2, {1, 2, 3}, 2, 3, 4, 1));
  const auto imported = maker.import();
  for (const auto& node : imported->graph.nodes) EXPECT_NE(node.code, OpCode::pad);
}

TEST(OnnxConvert, PaddingOfChannelsStaysAnOperator) {
  OnnxMaker maker;
  maker.input("x", {1, 1, 3})
      .output("y")
      .floats("w", {1, 2, 1}, {10, 1})
      .floats("fill", {}, {5})
      .integers("pads", {6}, {0, 1, 0, 0, 0, 0});
  maker.node("Pad", {"x", "pads", "fill"}, {"p"});
  maker.node("Conv", {"p", "w"}, {"y"});
  EXPECT_THAT(maker.run({{1, 2, 3}})[0], ElementsAre(51, 52, 53));
}

TEST(OnnxConvert, BatchNormalizationAndReluBecomePartOfTheConvolution) {
  OnnxMaker maker;
  maker.input("x", {1, 2, 3})
      .output("y")
      .floats("w", {2, 2, 1}, {1, 2, 3, 4})
      .floats("scale", {2}, {2, -1})
      .floats("shift", {2}, {1, 5})
      .floats("mean", {2}, {3, 4});
  maker.floats("variance", {2}, {3.0f, 0.0f});
  maker.node("Conv", {"x", "w"}, {"c"});
  set(maker.node("BatchNormalization", {"c", "scale", "shift", "mean", "variance"}, {"n"}), "epsilon", 1.0f);
  maker.node("Relu", {"n"}, {"y"});
  // c = [9 12 15; 19 26 33] for x = [1 2 3; 4 5 6]; deviations 2 and 1
  EXPECT_THAT(maker.run({{1, 2, 3, 4, 5, 6}})[0], Pointwise(FloatNear(1e-5f), Floats{7, 10, 13, 0, 0, 0}));
  std::size_t convs = 0;
  const auto imported = maker.import();
  for (const auto& node : imported->graph.nodes) {
    convs += node.code == OpCode::conv ? 1 : 0;
    EXPECT_NE(node.code, OpCode::mul);
    EXPECT_NE(node.code, OpCode::relu);
  }
  EXPECT_EQ(convs, 1u);
}

TEST(OnnxConvert, AConvolutionThatOthersReadKeepsItsResult) {
  OnnxMaker maker;
  maker.input("x", {1, 1, 3}).output("y").output("c").floats("w", {1, 1, 1}, {-1});
  maker.node("Conv", {"x", "w"}, {"c"});
  maker.node("Relu", {"c"}, {"y"});
  const auto outputs = maker.run({{1, -2, 3}});
  EXPECT_THAT(outputs[0], ElementsAre(0, 2, 0));
  EXPECT_THAT(outputs[1], ElementsAre(-1, 2, -3));
}

TEST(OnnxConvert, TransposedConvolution) {
  OnnxMaker maker;
  maker.input("x", {1, 2, 3}).output("y").floats("w", {2, 1, 3}, {1, 2, 3, 10, 20, 30});
  auto& node = maker.node("ConvTranspose", {"x", "w"}, {"y"});
  set(node, "strides", Dims{2});
  set(node, "pads", Dims{1, 0});
  // full: sum over c, t of x[c][t] w[c] at 2 t; its first element is cut off
  const Floats x = {1, 2, 3, 4, 5, 6};
  Floats full(7, 0.0f);
  const Floats w = {1, 2, 3, 10, 20, 30};
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t k = 0; k < 3; ++k) full[2 * t + k] += x[c * 3 + t] * w[c * 3 + k];
    }
  }
  EXPECT_EQ(maker.run({x})[0], Floats(full.begin() + 1, full.end()));
}

TEST(OnnxConvert, PoolsOnTwoAxes) {
  OnnxMaker maker;
  maker.input("x", {1, 1, 3, 3}).output("largest").output("mean").output("all");
  auto& largest = maker.node("MaxPool", {"x"}, {"largest"});
  set(largest, "kernel_shape", Dims{2, 2});
  set(largest, "strides", Dims{2, 2});
  set(largest, "ceil_mode", std::int64_t{1});
  auto& mean = maker.node("AveragePool", {"x"}, {"mean"});
  set(mean, "kernel_shape", Dims{2, 2});
  set(mean, "auto_pad", std::string("SAME_UPPER"));
  maker.node("GlobalAveragePool", {"x"}, {"all"});
  const auto outputs = maker.run({ramp(9)});
  EXPECT_THAT(outputs[0], ElementsAre(4, 5, 7, 8));
  EXPECT_THAT(outputs[1], ElementsAre(2, 3, 3.5f, 5, 6, 6.5f, 6.5f, 7.5f, 8));
  EXPECT_THAT(outputs[2], ElementsAre(4));
}

TEST(OnnxConvert, ProductsBecomeDenseLayers) {
  OnnxMaker maker;
  maker.input("x", {2, 3})
      .output("y")
      .output("z")
      .floats("w", {3, 2}, {1, 2, 3, 4, 5, 6})
      .floats("b", {2}, {10, 20});
  maker.node("MatMul", {"x", "w"}, {"m"});
  maker.node("Add", {"b", "m"}, {"y"});
  auto& gemm = maker.node("Gemm", {"x", "w", "b"}, {"z"});
  set(gemm, "alpha", 2.0f);
  set(gemm, "beta", 0.5f);
  const auto outputs = maker.run({{1, 0, 1, 0, 1, 0}});
  EXPECT_THAT(outputs[0], ElementsAre(16, 28, 13, 24));
  EXPECT_THAT(outputs[1], ElementsAre(17, 26, 11, 18));
  const auto imported = maker.import();
  EXPECT_EQ(imported->graph.nodes[0].code, OpCode::fully_connected);
}

TEST(OnnxConvert, ProductOfTwoComputedMatrices) {
  OnnxMaker maker;
  maker.input("a", {2, 2}).input("b", {2, 2}).output("y");
  set(maker.node("Gemm", {"a", "b"}, {"y"}), "transB", std::int64_t{1});
  EXPECT_THAT(maker.run({{1, 2, 3, 4}, {5, 6, 7, 8}})[0], ElementsAre(17, 23, 39, 53));
}

TEST(OnnxConvert, BroadcastsAcrossLayouts) {
  // A channels-last result meets a value of lower rank and a plain one.
  OnnxMaker maker;
  maker.input("x", {1, 2, 3})
      .input("row", {3})
      .input("z", {1, 2, 3})
      .output("y")
      .floats("w", {2, 2, 1}, {1, 0, 0, 1});
  maker.node("Conv", {"x", "w"}, {"c"});
  maker.node("Add", {"c", "row"}, {"sum"});
  maker.node("Sub", {"sum", "z"}, {"y"});
  EXPECT_THAT(maker.run({{1, 2, 3, 4, 5, 6}, {100, 200, 300}, {1, 1, 1, 2, 2, 2}})[0],
              ElementsAre(100, 201, 302, 102, 203, 304));
}

TEST(OnnxConvert, TranspositionsCancel) {
  OnnxMaker maker;
  maker.input("x", {1, 3, 5}).output("y").floats("w", {3, 3, 1}, ramp(9));
  maker.node("Conv", {"x", "w"}, {"a"});
  set(maker.node("Transpose", {"a"}, {"b"}), "perm", Dims{0, 2, 1});
  maker.node("Relu", {"b"}, {"c"});
  set(maker.node("Transpose", {"c"}, {"d"}), "perm", Dims{0, 2, 1});
  maker.node("Conv", {"d", "w"}, {"y"});
  std::size_t transposes = 0;
  const auto imported = maker.import();
  for (const auto& node : imported->graph.nodes) transposes += node.code == OpCode::transpose ? 1 : 0;
  EXPECT_EQ(transposes, 2u) << "one at the input, one at the output";
}

// What PyTorch writes for a network of [batch, time, features]: what reads the input says which axis is time.
TEST(OnnxConvert, TimeIsTheAxisThatTheFirstOperatorsTakeForIt) {
  const auto axes_of = [](const auto& reads) {
    OnnxMaker maker(13);
    maker.input("x", {1, 6, 4})
        .output("y")
        .floats("w", {3, 4, 1}, ramp(12))
        .floats("v", {3, 6, 1}, ramp(18))
        .floats("m", {4, 2}, ramp(8));
    reads(maker);
    const auto imported = maker.import();
    return imported.ok() ? imported->graph.time_axes : std::vector<int>{-2};
  };
  EXPECT_THAT(axes_of([](OnnxMaker& maker) {
                set(maker.node("Transpose", {"x"}, {"t"}), "perm", Dims{0, 2, 1});
                maker.node("Conv", {"t", "w"}, {"y"});
              }),
              ElementsAre(1));
  EXPECT_THAT(axes_of([](OnnxMaker& maker) { maker.node("MatMul", {"x", "m"}, {"y"}); }), ElementsAre(1));
  EXPECT_THAT(axes_of([](OnnxMaker& maker) { maker.node("Conv", {"x", "v"}, {"y"}); }), ElementsAre(2));
  EXPECT_THAT(
      axes_of([](OnnxMaker& maker) {  // as before a recurrent layer, beside an operator that says nothing
        set(maker.node("Transpose", {"x"}, {"t"}), "perm", Dims{1, 0, 2});
        set(maker.node("Transpose", {"t"}, {"back"}), "perm", Dims{1, 0, 2});
        maker.node("Add", {"x", "back"}, {"y"});
      }),
      ElementsAre(1));
  EXPECT_THAT(axes_of([](OnnxMaker& maker) {  // a convolution says more than a transposition
                maker.node("Conv", {"x", "v"}, {"c"});
                set(maker.node("Transpose", {"x"}, {"t"}), "perm", Dims{0, 2, 1});
                maker.node("MatMul", {"c", "t"}, {"y"});
              }),
              ElementsAre(2));
}

TEST(OnnxConvert, ReshapeAndFlattenSeeTheLayoutOfTheFile) {
  OnnxMaker maker;
  maker.input("x", {1, 2, 3}).output("y").floats("w", {2, 2, 1}, {1, 0, 0, 1});
  maker.node("Conv", {"x", "w"}, {"c"});
  maker.node("Flatten", {"c"}, {"y"});
  EXPECT_EQ(maker.run({ramp(6)})[0], ramp(6));
}

TEST(OnnxConvert, ReductionsSoftmaxAndArgMax) {
  OnnxMaker maker(12);  // axes as attributes; Softmax over everything after its axis
  maker.input("x", {1, 2, 2}).output("sum").output("soft");
  auto& sum = maker.node("ReduceSum", {"x"}, {"sum"});
  set(sum, "axes", Dims{-1});
  set(sum, "keepdims", std::int64_t{0});
  set(maker.node("Softmax", {"x"}, {"soft"}), "axis", std::int64_t{1});
  const auto outputs = maker.run({{0, 0, 0, std::log(2.0f)}});
  EXPECT_THAT(outputs[0], Pointwise(FloatNear(1e-6f), Floats{0, std::log(2.0f)}));
  EXPECT_THAT(outputs[1], Pointwise(FloatNear(1e-6f), Floats{0.2f, 0.2f, 0.2f, 0.4f}));
}

TEST(OnnxConvert, SplitConcatGatherScatter) {
  OnnxMaker maker;
  maker.input("x", {1, 4, 2})
      .output("y")
      .output("picked")
      .output("written")
      .integers("sizes", {2}, {1, 3})
      .integers("which", {2}, {3, -4})
      .integers("at", {1, 2}, {0, 2});
  maker.floats("new", {1, 2}, {-1, -2});
  set(maker.node("Split", {"x", "sizes"}, {"a", "b"}), "axis", std::int64_t{1});
  set(maker.node("Concat", {"b", "a"}, {"y"}), "axis", std::int64_t{1});
  set(maker.node("Gather", {"x", "which"}, {"picked"}), "axis", std::int64_t{1});
  maker.node("ScatterND", {"x", "at", "new"}, {"written"});
  const auto outputs = maker.run({ramp(8)});
  EXPECT_THAT(outputs[0], ElementsAre(2, 3, 4, 5, 6, 7, 0, 1));
  EXPECT_THAT(outputs[1], ElementsAre(6, 7, 0, 1));
  EXPECT_THAT(outputs[2], ElementsAre(0, 1, 2, 3, -1, -2, 6, 7));
}

TEST(OnnxConvert, ClipWithComputedLimit) {
  OnnxMaker maker;
  maker.input("x", {4}).output("y").output("z").floats("two", {}, {2}).floats("five", {}, {5});
  set(maker.node("ReduceMax", {"x"}, {"top"}), "keepdims", std::int64_t{0});
  maker.node("Sub", {"top", "two"}, {"floor"});
  maker.node("Clip", {"x", "floor"}, {"y"});
  maker.node("Clip", {"x", "two", "five"}, {"z"});
  const auto outputs = maker.run({{1, 3, 5, 7}});
  EXPECT_THAT(outputs[0], ElementsAre(5, 5, 5, 7));
  EXPECT_THAT(outputs[1], ElementsAre(2, 3, 5, 5));
}

TEST(OnnxConvert, PReluSlopesFollowTheChannels) {
  OnnxMaker maker;
  maker.input("x", {1, 2, 2})
      .output("y")
      .floats("w", {2, 2, 1}, {1, 0, 0, 1})
      .floats("slopes", {2, 1}, {0.5f, 2});
  maker.node("Conv", {"x", "w"}, {"c"});
  maker.node("PRelu", {"c", "slopes"}, {"y"});
  EXPECT_THAT(maker.run({{-1, 2, -3, 4}})[0], ElementsAre(-0.5f, 2, -6, 4));
}

TEST(OnnxConvert, MissingOperatorsAreNamedAtOnce) {
  OnnxMaker maker;
  maker.input("x", {4}).output("y");
  maker.node("Frobnicate", {"x"}, {"a"});
  maker.node("Relu", {"a"}, {"b"});
  maker.node("Bernoulli", {"b"}, {"c"});
  maker.node("Frobnicate", {"c"}, {"y"});
  const auto imported = maker.import();
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.status().code(), Code::unsupported);
  EXPECT_THAT(std::string(imported.status().text()), HasSubstr("Bernoulli (1), Frobnicate (2)"));
}

TEST(OnnxConvert, WhatCannotBeDoneIsNamedAtOnceWithItsNodesAndTheOpset) {
  OnnxMaker maker(17);
  maker.input("x", {1, 4, 8}).output("y");
  maker.node("Frobnicate", {"x"}, {"a"}).set_name("first");
  set(maker.node("Pad", {"x", "pads"}, {"b"}), "mode", std::string("wrap"));
  maker.integers("pads", {6}, {0, 0, 1, 0, 0, 1});
  maker.node("Bernoulli", {"b"}, {"c"}).set_name("second");
  maker.node("Frobnicate", {"c"}, {"d"}).set_name("third");
  set(maker.node("ArgMax", {"x"}, {"e"}), "select_last_index", std::int64_t{1});
  maker.node("Add", {"a", "d"}, {"y"});
  maker.output("e");
  const auto imported = maker.import();
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.status().code(), Code::unsupported);
  const std::string text(imported.status().text());
  EXPECT_THAT(text, testing::StartsWith("opset 17: "));
  EXPECT_THAT(text, HasSubstr("Bernoulli (1), Frobnicate (2): nodes \"second\", \"first\", \"third\""));
  EXPECT_THAT(text, HasSubstr("(Pad): mode \"wrap\""));
  EXPECT_THAT(text, HasSubstr("(ArgMax): the last of equal elements"));
}

TEST(OnnxConvert, OutputsThatAreInputsOrTwice) {
  OnnxMaker maker;
  maker.input("x", {2}).output("same").output("again");
  maker.node("Identity", {"x"}, {"same"});
  maker.node("Identity", {"x"}, {"again"});
  const auto outputs = maker.run({{1, 2}});
  EXPECT_THAT(outputs[0], ElementsAre(1, 2));
  EXPECT_THAT(outputs[1], ElementsAre(1, 2));
}

}  // namespace
}  // namespace runnel
