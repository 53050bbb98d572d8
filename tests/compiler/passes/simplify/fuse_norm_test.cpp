// What quantization makes of float graphs first: single operators for what files spell out.
#include "compiler/passes/simplify/fuse_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "compiler/passes/simplify/tidy.h"
#include "compiler/run_whole.h"
#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using test::GraphBuilder;
using Id = GraphBuilder::Id;
constexpr int kFrames = 7, kChannels = 12;

class Spelled {
 public:
  GraphBuilder builder{5, DType::float32};

  Id number(float value) { return constant({}, {value}); }
  Id constant(std::vector<std::int32_t> shape, const std::vector<float>& values) {
    const Id id = builder.tensor(std::move(shape), 0);
    compiler::Tensor& made = builder.graph().tensors[static_cast<std::size_t>(id)];
    made.data.emplace(values.size() * sizeof(float));
    std::memcpy(made.data->data(), values.data(), made.data->size());
    return id;
  }
  Id channels(float about) {
    std::vector<float> values;
    for (int c = 0; c < kChannels; ++c) values.push_back(about + 0.01f * static_cast<float>(c));
    return constant({kChannels}, values);
  }
  Id pair(OpCode code, Id a, Id b) {
    const Id y = builder.tensor(
        builder.shape(a).size() >= builder.shape(b).size() ? builder.shape(a) : builder.shape(b), 0);
    builder.node(code, {a, b}, {y}, compiler::BinaryOptions{});
    return y;
  }
  Id function(OpCode code, Id x) {
    const Id y = builder.tensor(builder.shape(x), 0);
    builder.node(code, {x}, {y}, {});
    return y;
  }
  Id mean(Id x) {
    std::vector<std::int32_t> shape = builder.shape(x);
    shape.back() = 1;
    const Id y = builder.tensor(shape, 0);
    compiler::ReduceOptions options;
    options.axes = {static_cast<std::uint8_t>(shape.size() - 1)};
    builder.node(OpCode::reduce_mean, {x}, {y}, options);
    return y;
  }
  Id normalized(Id x) {
    const Id d = pair(OpCode::sub, x, mean(x)), variance = mean(pair(OpCode::mul, d, d)),
             sum = builder.tensor(builder.shape(variance), 0);
    builder.node(OpCode::add, {variance, number(1e-3f)}, {sum}, compiler::BinaryOptions{});
    return pair(OpCode::div, d, function(OpCode::sqrt, sum));
  }
  [[nodiscard]] int count(OpCode code) {
    int found = 0;
    for (const compiler::Node& node : builder.graph().nodes) found += node.code == code ? 1 : 0;
    return found;
  }
  // The results of the graph before and after a change, for one input.
  template <class F>
  void expect_same(F&& change, float within) {
    std::mt19937 random(3);
    std::vector<float> x(kFrames * kChannels);
    for (float& value : x) value = static_cast<float>(random() % 2000) / 500.0f - 2.0f;
    std::vector<std::byte> bytes(x.size() * sizeof(float));
    std::memcpy(bytes.data(), x.data(), bytes.size());
    const auto values = [&] {
      const auto results = compiler::run_whole(builder.graph(), {{bytes}});
      EXPECT_TRUE(results.ok()) << results.status().text();
      std::vector<float> out((*results)[0][0].size() / sizeof(float));
      std::memcpy(out.data(), (*results)[0][0].data(), out.size() * sizeof(float));
      return out;
    };
    const std::vector<float> before = values();
    change(builder.graph());
    const std::vector<float> after = values();
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], within) << i;
  }
};

TEST(FuseNormalizations, LayerNormAndSwishBecomeOneOperatorEach) {
  Spelled g;
  const Id x = g.builder.input({1, kFrames, kChannels});
  const Id full =
      g.pair(OpCode::add, g.pair(OpCode::mul, g.normalized(x), g.channels(0.9f)), g.channels(-0.2f));
  const Id bare = g.normalized(full);
  g.builder.output(g.pair(OpCode::mul, bare, g.function(OpCode::sigmoid, bare)));
  g.expect_same(compiler::fuse_normalizations, 1e-5f);
  EXPECT_EQ(g.builder.graph().nodes.size(), 3u);
  EXPECT_EQ(g.count(OpCode::layer_norm), 2);
  EXPECT_EQ(g.count(OpCode::swish), 1);
  EXPECT_EQ(g.builder.graph().nodes[0].inputs.size(), 3u);
}

TEST(FuseNormalizations, WhatOthersReadOrWhatIsAnotherFormulaStays) {
  {  // the gate is an output of its own, the factor depends on the frame
    Spelled g;
    const Id x = g.builder.input({1, kFrames, kChannels});
    const Id gate = g.function(OpCode::sigmoid, x);
    const Id norm = g.normalized(g.pair(OpCode::mul, x, gate));
    g.builder.output(gate);
    g.builder.output(g.pair(OpCode::mul, norm, x));
    compiler::fuse_normalizations(g.builder.graph());
    EXPECT_EQ(g.count(OpCode::swish), 0);
    EXPECT_EQ(g.count(OpCode::layer_norm), 1);
    EXPECT_EQ(g.count(OpCode::mul), 2);
  }
  {  // the squares are those of x
    Spelled g;
    const Id x = g.builder.input({1, kFrames, kChannels});
    const Id d = g.pair(OpCode::sub, x, g.mean(x)), variance = g.mean(g.pair(OpCode::mul, x, x)),
             sum = g.builder.tensor(g.builder.shape(variance), 0);
    g.builder.node(OpCode::add, {variance, g.number(1e-3f)}, {sum}, compiler::BinaryOptions{});
    g.builder.output(g.pair(OpCode::div, d, g.function(OpCode::sqrt, sum)));
    compiler::fuse_normalizations(g.builder.graph());
    EXPECT_EQ(g.count(OpCode::layer_norm), 0);
  }
  {  // a gate beside another value: GLU
    Spelled g;
    const Id x = g.builder.input({1, kFrames, kChannels});
    g.builder.output(g.pair(OpCode::mul, g.function(OpCode::abs, x), g.function(OpCode::sigmoid, x)));
    compiler::fuse_normalizations(g.builder.graph());
    EXPECT_EQ(g.count(OpCode::swish), 0);
  }
}

TEST(Tidy, ConstantsAreFoldedAndQuotientsByNumbersBecomeProducts) {
  Spelled g;
  const Id x = g.builder.input({1, kFrames, kChannels});
  const Id table = g.function(OpCode::tanh, g.pair(OpCode::add, g.channels(0.1f), g.channels(0.3f)));
  g.builder.output(g.pair(OpCode::div, g.pair(OpCode::add, x, table), g.number(3)));
  g.expect_same(
      [](compiler::Graph& graph) {
        compiler::fold_constants(graph);
        compiler::multiply_by_inverses(graph);
      },
      1e-6f);
  EXPECT_EQ(g.builder.graph().nodes.size(), 2u);
  EXPECT_EQ(g.count(OpCode::mul), 1);
}

TEST(Tidy, TranspositionsThatUndoOneAnotherGo) {
  Spelled g;
  const Id x = g.builder.input({1, kFrames, kChannels});
  const Id turned = g.builder.transpose(x, {0, 2, 1});
  const Id back = g.builder.transpose(turned, {0, 2, 1});
  g.builder.transpose(turned, {2, 0, 1});  // nobody reads it
  g.builder.output(g.function(OpCode::abs, back));
  g.expect_same(compiler::cancel_transpositions, 0);
  EXPECT_EQ(g.builder.graph().nodes.size(), 1u);
}

}  // namespace
}  // namespace runnel
