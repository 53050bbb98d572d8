// Attention and what surrounds it, from float graphs to integers: without a way through float, as a stream.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <random>

#include "compiler/quantize/integer_form.h"
#include "compiler/quantize/quantize.h"
#include "compiler/write/writer.h"
#include "inference/host/check.h"
#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using test::GraphBuilder;
using Id = GraphBuilder::Id;
constexpr int kFrames = 24, kHeads = 2, kChannels = 4, kWidth = 8;

// x [1, T, 8] -> layer norm -> attention of two heads + x -> swish(dense).
compiler::Graph block() {
  GraphBuilder b(21, DType::float32);
  const Id x = b.input({1, kFrames, kWidth});
  const auto like = [&](std::vector<std::int32_t> shape) { return b.tensor(std::move(shape), 0); };
  compiler::NormOptions norm;
  norm.axis = 2;
  norm.epsilon = 1e-5f;
  const Id normal = like({1, kFrames, kWidth});
  b.node(OpCode::layer_norm,
         {x, b.constant({kWidth}, DType::float32, {}, -1, 100),
          b.constant({kWidth}, DType::float32, {}, -1, 100)},
         {normal}, norm);
  const auto heads = [&](bool keys) {
    return b.transpose(b.reshape(b.conv(normal, kWidth, {}), {1, kFrames, kHeads, kChannels}),
                       keys ? std::vector<std::uint8_t>{0, 2, 3, 1} : std::vector<std::uint8_t>{0, 2, 1, 3});
  };
  const Id q = heads(false), k = heads(true), v = heads(false);
  const Id scores = like({1, kHeads, kFrames, kFrames}), scaled = like({1, kHeads, kFrames, kFrames}),
           weights = like({1, kHeads, kFrames, kFrames}), sum = like({1, kHeads, kFrames, kChannels});
  b.node(OpCode::matmul, {q, k}, {scores}, compiler::FullyConnectedOptions{});
  const Id two = like({});
  const float factor = 2;
  compiler::Tensor& number = b.graph().tensors[static_cast<std::size_t>(two)];
  number.data.emplace(sizeof factor);
  std::memcpy(number.data->data(), &factor, sizeof factor);
  b.node(OpCode::div, {scores, two}, {scaled}, compiler::BinaryOptions{});
  b.node(OpCode::softmax, {scaled}, {weights}, compiler::AxisOptions{3});
  b.node(OpCode::matmul, {weights, v}, {sum}, compiler::FullyConnectedOptions{});
  const Id joined = b.reshape(b.transpose(sum, {0, 2, 1, 3}), {1, kFrames, kWidth});
  const Id more = b.binary(OpCode::add, joined, x), dense = b.conv(more, kWidth, {}),
           gate = like({1, kFrames, kWidth}), y = like({1, kFrames, kWidth});
  b.node(OpCode::sigmoid, {dense}, {gate}, {});
  b.node(OpCode::mul, {dense, gate}, {y}, compiler::BinaryOptions{});
  b.output(y);
  return b.graph();
}

MemoryClips clips(int count) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<Clip> all;
  for (int i = 0; i < count; ++i) {
    std::vector<float> clip(kFrames * kWidth);
    for (float& value : clip) value = normal(random);
    all.push_back({std::move(clip)});
  }
  return MemoryClips(std::move(all));
}

struct Case {
  Scheme scheme;
  DType type;
  double decibels;
};

class QuantizeAttention : public testing::TestWithParam<Case> {
 protected:
  Options options() const {
    Options options;
    options.target = *target_rules("generic");
    options.scheme = GetParam().scheme;
    options.type = GetParam().type;
    options.methods = Methods{};
    options.methods->equalize = options.methods->search = options.methods->round = false;
    options.methods->correct_bias = false;
    return options;
  }
  void expect_close(const Quantized& made) const {
    EXPECT_LT(made.error, std::pow(10.0, -GetParam().decibels / 10));
  }
};

TEST_P(QuantizeAttention, StaysInIntegersAndStreams) {
  compiler::Graph graph = block();
  compiler::StreamOptions stream;
  stream.attention = compiler::AttentionWindow{6, 1, 1};
  const auto notes = take_integer_form(options().target, stream, graph);
  ASSERT_TRUE(notes.ok()) << notes.status().text();
  EXPECT_EQ(notes->size(), 1u);
  EXPECT_FALSE(stream.attention);
  EXPECT_TRUE(stream.required);
  const auto made = quantize(graph, clips(8), options());
  ASSERT_TRUE(made.ok()) << made.status().text();
  expect_close(*made);
  for (const compiler::Node& node : made->graph.nodes) {
    for (const compiler::TensorId id : node.outputs)
      EXPECT_EQ(made->graph.tensors[static_cast<std::size_t>(id)].dtype, GetParam().type) << node.name;
    EXPECT_TRUE(node.code != OpCode::softmax && node.code != OpCode::sigmoid) << node.name;
  }
  compiler::WriteOptions write;
  write.stream = stream;
  const auto written = compiler::write_model(made->graph, write);
  ASSERT_TRUE(written.ok()) << written.status().text();
  const auto model = OwnedModel::from_bytes(written->bytes);
  ASSERT_TRUE(model.ok()) << model.status().text();
  const auto report = check_streaming(*model, 60, {}, 1);
  ASSERT_TRUE(report.ok()) << report.status().text();
  EXPECT_TRUE(report->differences.empty()) << report->differences[0].run;
}

// Without a window: products, softmax and all stay integers with free scales; with powers of two ESP-DL's
// softmax gives floats.
TEST_P(QuantizeAttention, OfTheWholeClipStaysInIntegersToo) {
  compiler::Graph graph = block();
  compiler::StreamOptions stream;
  ASSERT_TRUE(take_integer_form(options().target, stream, graph).ok());
  const auto made = quantize(graph, clips(8), options());
  ASSERT_TRUE(made.ok()) << made.status().text();
  expect_close(*made);
  const bool affine = GetParam().scheme == Scheme::affine;
  for (const compiler::Node& node : made->graph.nodes) {
    if (!affine && node.code == OpCode::softmax) continue;
    for (const compiler::TensorId id : node.outputs)
      EXPECT_EQ(made->graph.tensors[static_cast<std::size_t>(id)].dtype, GetParam().type) << node.name;
  }
}

INSTANTIATE_TEST_SUITE_P(SchemesAndWidths, QuantizeAttention,
                         testing::Values(Case{Scheme::affine, DType::int8, 30},
                                         Case{Scheme::pow2, DType::int8, 25},
                                         Case{Scheme::affine, DType::int16, 75},
                                         Case{Scheme::pow2, DType::int16, 70}));

TEST(QuantizeAttentionTargets, EspDlKeepsItsOperators) {
  compiler::Graph graph = block();
  compiler::StreamOptions stream;
  const std::size_t before = graph.nodes.size();
  ASSERT_TRUE(take_integer_form(*target_rules("esp32p4"), stream, graph).ok());
  EXPECT_EQ(graph.nodes.size(), before);
}

TEST(QuantizeAttentionTargets, AWindowThatCannotBeIsRefusedByName) {
  GraphBuilder plain(1, DType::float32);
  plain.output(plain.conv(plain.input({1, kFrames, kWidth}), 3, {}));
  compiler::StreamOptions stream;
  stream.attention = compiler::AttentionWindow{6, 1, 1};
  const auto refused = take_integer_form(*target_rules("generic"), stream, plain.graph());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().text()),
              testing::HasSubstr("an attention window, but no product"));
}

}  // namespace
}  // namespace runnel
