#include "compiler/import/espdl/importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/espdl/container.h"
#include "tests/compiler/import/espdl/tiny_model.h"
#include "tests/compiler/run_graph.h"

namespace runnel::compiler {
namespace {

using test::TinyModel;
using testing::HasSubstr;
using Type = espdl::TensorDataType;

std::string refusal(const TinyModel& model, EspdlTarget target = EspdlTarget::c) {
  const auto result = import_espdl(model.file(), {target});
  return result.ok() ? "accepted" : std::string(result.status().text());
}

Graph import(const TinyModel& model, EspdlTarget target = EspdlTarget::c) {
  auto result = import_espdl(model.file(), {target});
  EXPECT_TRUE(result.ok()) << result.status().text();
  return result.ok() ? std::move(result->graph) : Graph{};
}

// x -> one node -> y, without constants.
TinyModel one_node(test::TinyNode node, std::vector<std::int64_t> from, std::vector<std::int64_t> to,
                   std::int64_t from_exponent, std::int64_t to_exponent) {
  TinyModel model;
  model.inputs = {{"x", std::move(from), Type::INT8, from_exponent}};
  model.outputs = {{"y", std::move(to), Type::INT8, to_exponent}};
  node.inputs = {"x"};
  node.outputs = {"y"};
  model.nodes = {std::move(node)};
  return model;
}

// tiny_conv after a StreamingCache of `window` frames.
TinyModel cached_conv(std::int64_t window, std::int64_t pad = 0) {
  TinyModel model = test::tiny_conv();
  model.values = {{"cached", {1, 4 + window, 2}, Type::INT8, -4}};
  model.nodes[0].inputs[0] = "cached";
  model.nodes[0].lists[3].second = {pad, 0};
  model.nodes.insert(
      model.nodes.begin(),
      {"StreamingCache", {"x"}, {"cached"}, {{"window_size", window}, {"frame_axis", 1}}, {}, {}, "cache"});
  return model;
}

TEST(EspdlImporter, ConvolutionIsComputedExactly) {
  const Graph graph = import(test::tiny_conv());
  ASSERT_EQ(graph.nodes.size(), 1u);
  const auto runnable = test::RunnableGraph::make(graph);
  ASSERT_TRUE(runnable.ok()) << runnable.status().text();
  const int x[5][2] = {{127, -128}, {13, 7}, {-50, 90}, {0, 1}, {-1, -1}};
  const int w[3][2][2] = {{{1, 2}, {3, 4}}, {{-1, -2}, {-3, -4}}, {{5, 0}, {0, 5}}};
  const int b[3] = {3, 100, -7};
  test::Bytes input, expected;
  for (const auto& frame : x) {
    for (const int value : frame) input.push_back(static_cast<std::byte>(value));
  }
  for (int t = 0; t < 4; ++t) {
    for (int n = 0; n < 3; ++n) {
      int sum = b[n];
      for (int k = 0; k < 2; ++k) {
        for (int c = 0; c < 2; ++c) sum += x[t + k][c] * w[n][k][c];
      }
      // Scales 2^-4 * 2^-2 to 2^-3: an eighth, rounded half up.
      const double q = std::floor(sum / 8.0 + 0.5);
      expected.push_back(static_cast<std::byte>(static_cast<int>(std::min(127.0, std::max(0.0, q)))));
    }
  }
  const auto outputs = (*runnable)->whole({input});
  ASSERT_TRUE(outputs.ok()) << outputs.status().text();
  EXPECT_EQ((*outputs)[0], expected);
}

TEST(EspdlImporter, ShapesFollowFromTheInputs) {
  TinyModel model = test::tiny_conv();
  model.outputs[0].shape = {1, 97, 3};  // as in files for streaming, which carry the offline shapes
  const Graph graph = import(model);
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.outputs[0])].shape,
            (std::vector<std::int32_t>{1, 4, 3}));
}

TEST(EspdlImporter, MetadataIsKeptAndCompleted) {
  TinyModel model = test::tiny_conv();
  model.metadata = {{"author", "someone"}};
  const Graph graph = import(model, EspdlTarget::esp32s3);
  EXPECT_THAT(graph.metadata,
              testing::ElementsAre(std::pair("author", "someone"), std::pair("source.format", "espdl"),
                                   std::pair("espdl.target", "esp32s3")));
}

TEST(EspdlImporter, AllUnknownOperatorsAreNamedAtOnce) {
  TinyModel model = one_node({"Unheard", {}, {}}, {1, 4}, {1, 4}, 0, 0);
  model.values = {{"a", {1, 4}}, {"b", {1, 4}}};
  model.nodes = {{"Unheard", {"x"}, {"a"}}, {"Frobnicate", {"a"}, {"b"}}, {"Unheard", {"b"}, {"y"}}};
  const auto result = import_espdl(model.file());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::unsupported);
  EXPECT_EQ(result.status().text(), "operators that cannot be imported: Frobnicate, Unheard (2 nodes)");
}

TEST(EspdlImporter, NonNegativeValuesAreMarked) {
  const Graph graph = import(test::tiny_conv());
  EXPECT_TRUE(graph.tensors[static_cast<std::size_t>(graph.outputs[0])].non_negative);
  EXPECT_FALSE(graph.tensors[static_cast<std::size_t>(graph.inputs[0])].non_negative);
}

// ---- caches

TEST(EspdlImporter, ACacheBecomesLeftPadding) {
  const Graph graph = import(cached_conv(2));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(std::get<ConvOptions>(graph.nodes[0].options).pad_left, 1);
  EXPECT_EQ(graph.nodes[0].inputs[0], graph.inputs[0]);
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.outputs[0])].shape,
            (std::vector<std::int32_t>{1, 5, 3}));
}

TEST(EspdlImporter, ACacheOfOneFrameIsNothing) {
  const Graph graph = import(cached_conv(1));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(std::get<ConvOptions>(graph.nodes[0].options).pad_left, 0);
}

// The outputs of calls with five frames each, counted from 1, channel by channel.
std::vector<std::vector<test::Bytes>> called(const Graph& graph, int calls) {
  const auto runnable = test::RunnableGraph::make(graph);
  EXPECT_TRUE(runnable.ok()) << runnable.status().text();
  if (!runnable.ok()) return {};
  std::vector<std::vector<test::Bytes>> steps;
  int next = 1;
  for (int call = 0; call < calls; ++call) {
    test::Bytes block(10);
    for (std::byte& value : block) value = static_cast<std::byte>(next++);
    steps.push_back({block});
  }
  const auto outputs = (*runnable)->stepped(steps);
  EXPECT_TRUE(outputs.ok()) << outputs.status().text();
  return outputs.ok() ? *outputs : std::vector<std::vector<test::Bytes>>{};
}

test::Bytes counted(std::initializer_list<int> values) {
  test::Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(EspdlImporter, CachesThatCannotBePaddingStayOperators) {
  for (const TinyModel& model : {cached_conv(2, 1), cached_conv(4)}) {
    const Graph graph = import(model);
    ASSERT_EQ(graph.nodes.size(), 2u);
    EXPECT_EQ(graph.nodes[0].code, OpCode::streaming_cache);
    EXPECT_EQ(graph.pipeline.usage, UsageKind::step);
  }
  // The cache alone: each call gets the last frame of the one before before its own, then turned around.
  TinyModel model = cached_conv(2);
  model.nodes[1] = {"Transpose", {"cached"}, {"y"}, {}, {{"perm", {0, 1, 2}}}, {}, "turn"};
  model.outputs = {{"y", {1, 6, 2}, Type::INT8, -4}};
  model.nodes.push_back({"Flatten", {"y"}, {"z"}, {}, {}, {}, "flat"});
  model.values.push_back(model.outputs[0]);
  model.outputs = {{"z", {1, 12}, Type::INT8, -4}};
  const auto outputs = called(import(model), 2);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0][0], counted({0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(outputs[1][0], counted({9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));
}

TEST(EspdlImporter, ACacheMayBeAnOutput) {
  TinyModel model = cached_conv(2);
  model.outputs = {{"cached", {1, 6, 2}, Type::INT8, -4}};
  model.values = {{"y", {1, 4, 3}, Type::INT8, -3}};
  const auto outputs = called(import(model), 2);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1][0], counted({9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));
}

// Padding does what a cache does in a stream only: after it, one result per call needs the frames of the
// call before.
TEST(EspdlImporter, ACacheInFrontOfOneResultPerCallStaysAnOperator) {
  TinyModel model = cached_conv(2);
  model.values.push_back({"y", {1, 5, 3}, Type::INT8, -3});
  model.nodes.push_back({"Flatten", {"y"}, {"z"}, {}, {}, {}, "flat"});
  model.outputs = {{"z", {1, 15}, Type::INT8, -3}};
  const Graph graph = import(model);
  EXPECT_EQ(graph.nodes[0].code, OpCode::streaming_cache);
  EXPECT_EQ(graph.pipeline.usage, UsageKind::step);
  const auto outputs = called(graph, 2), again = called(graph, 1);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0], again[0]) << "a new session starts with zeros";
}

// A cache along any axis: rows before it keep frames of their own.
TEST(EspdlImporter, ACacheAlongTheLastAxis) {
  TinyModel model = cached_conv(3);
  model.nodes.resize(1);
  model.nodes[0].integers = {{"window_size", 3}, {"frame_axis", -1}};
  model.values.clear();
  model.outputs = {{"cached", {1, 5, 4}, Type::INT8, -4}};
  const auto outputs = called(import(model), 2);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0][0], counted({0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 7, 8, 0, 0, 9, 10}));
  EXPECT_EQ(outputs[1][0], counted({1, 2, 11, 12, 3, 4, 13, 14, 5, 6, 15, 16, 7, 8, 17, 18, 9, 10, 19, 20}));
}

TEST(EspdlImporter, TheZerosOfACacheAreDataForAMaximum) {
  TinyModel model = one_node(
      {"MaxPool", {}, {}, {}, {{"kernel_shape", {3}}, {"strides", {1}}, {"pads", {0, 0}}}, {}, "pool"},
      {1, 4, 1}, {1, 4, 1}, -2, -2);
  model.values = {{"cached", {1, 6, 1}, Type::INT8, -2}};
  model.nodes[0].inputs[0] = "cached";
  model.nodes.insert(model.nodes.begin(),
                     {"StreamingCache", {"x"}, {"cached"}, {{"window_size", 3}}, {}, {}, "cache"});
  const auto runnable = test::RunnableGraph::make(import(model));
  ASSERT_TRUE(runnable.ok()) << runnable.status().text();
  const auto bytes = [](std::initializer_list<int> values) {
    test::Bytes out;
    for (const int value : values) out.push_back(static_cast<std::byte>(value));
    return out;
  };
  const test::Bytes input = bytes({-5, -9, -7, -8}), expected = bytes({0, 0, -5, -7});
  const auto whole = (*runnable)->whole({input});
  ASSERT_TRUE(whole.ok()) << whole.status().text();
  EXPECT_EQ((*whole)[0], expected);
  for (const std::int64_t block : {1, 2, 3, 7}) {
    const auto streamed = (*runnable)->streamed({input}, block);
    ASSERT_TRUE(streamed.ok()) << streamed.status().text();
    EXPECT_EQ((*streamed)[0], expected) << "in blocks of " << block;
  }
}

// ---- what does not fit

TEST(EspdlImporter, WeightsThatDoNotFitAreRefused) {
  TinyModel model = test::tiny_conv();
  model.constants[1].exponents = {-5};
  EXPECT_THAT(refusal(model), HasSubstr("bias exponent -5 (channel 0), expected -6"));
  model = test::tiny_conv();
  model.constants[0].layout = "CHWN";
  EXPECT_THAT(refusal(model), HasSubstr("weight layout \"CHWN\" is not known"));
  model = test::tiny_conv();
  model.constants[0].dims = {2, 3, 3};
  EXPECT_THAT(refusal(model), HasSubstr("tensor \"w\": 16 bytes of data, expected 18"));
  model = test::tiny_conv();
  model.constants[0].dims = {2, 3, 2};
  EXPECT_THAT(refusal(model), HasSubstr("weights for 3 input channels, the input has 2"));
  model = test::tiny_conv();
  model.constants[0].dims = {std::int64_t{1} << 40, std::int64_t{1} << 40, 3};
  EXPECT_THAT(refusal(model), HasSubstr("tensor \"w\": more than"));
  model = test::tiny_conv();
  model.constants[0].exponents = {-2, -2};
  EXPECT_THAT(refusal(model), HasSubstr("weights with 2 exponents, expected 1 or 3"));
  model = test::tiny_conv();
  model.nodes[0].integers[0].second = 3;
  EXPECT_THAT(refusal(model), HasSubstr("3 groups over 2 channels"));
  model = test::tiny_conv();
  model.nodes[0].lists[1].second = {0};
  EXPECT_THAT(refusal(model), HasSubstr("attribute \"strides\" is 0"));
  model = test::tiny_conv();
  model.nodes[0].lists[1].second = {1, 1};
  EXPECT_THAT(refusal(model), HasSubstr("attribute \"strides\" has 2 entries, expected 1"));
}

TEST(EspdlImporter, GraphsThatDoNotHoldTogetherAreRefused) {
  TinyModel model = test::tiny_conv();
  model.nodes[0].inputs[0] = "nowhere";
  EXPECT_THAT(refusal(model), HasSubstr("its input \"nowhere\" is made by no earlier node"));
  model = test::tiny_conv();
  model.nodes[0].inputs[1] = "x";
  EXPECT_THAT(refusal(model), HasSubstr("computed at run time, expected a constant"));
  model = test::tiny_conv();
  model.inputs[0].shape = {1, 0, 2};
  EXPECT_THAT(refusal(model), HasSubstr("dimension 1 is 0"));
  model = test::tiny_conv();
  model.inputs[0].shape = {1, 1, 2};
  EXPECT_THAT(refusal(model), HasSubstr("dimension 1 of output 0 would be 0"));
  model = test::tiny_conv();
  model.outputs[0].name = "z";
  model.values = {{"y", {1, 4, 3}, Type::INT8, -3}};
  EXPECT_THAT(refusal(model), HasSubstr("output \"z\" of the graph is made by no node"));
  model = test::tiny_conv();
  model.nodes.push_back(model.nodes[0]);
  EXPECT_THAT(refusal(model), HasSubstr("its output \"y\" exists already"));
  model = test::tiny_conv();
  model.nodes.clear();
  EXPECT_THAT(refusal(model), HasSubstr("no nodes"));
}

// ---- tables

TEST(EspdlImporter, FunctionsWithoutTableAreComputed) {
  const Graph graph = import(one_node({"Sigmoid", {}, {}}, {1, 3}, {1, 3}, -4, -7));
  const auto runnable = test::RunnableGraph::make(graph);
  ASSERT_TRUE(runnable.ok()) << runnable.status().text();
  const auto outputs = (*runnable)->whole({{std::byte{0}, std::byte{127}, std::byte{0x80}}});
  ASSERT_TRUE(outputs.ok());
  // sigmoid(0) = 64 / 128; sigmoid(7.94) = 0.99964 -> 128, saturated to 127; sigmoid(-8) = 0.000335 -> 0.
  EXPECT_EQ((*outputs)[0], (test::Bytes{std::byte{64}, std::byte{127}, std::byte{0}}));
}

TEST(EspdlImporter, TablesOfTheWrongSizeAreRefused) {
  TinyModel model = one_node({"Sigmoid", {}, {}, {}, {}, {{"lut", "table"}}}, {1, 3}, {1, 3}, -4, -7);
  model.constants = {{"table", {255}, Type::INT8, std::vector<std::int64_t>(255, 1), {-7}}};
  EXPECT_THAT(refusal(model), HasSubstr("table of 255 entries for int8, expected 256"));
  model.constants = {{"table", {256}, Type::INT8, std::vector<std::int64_t>(256, 1), {-6}}};
  EXPECT_THAT(refusal(model), HasSubstr("its table has exponent -6"));
  model.constants.clear();
  EXPECT_THAT(refusal(model), HasSubstr("its table \"table\" does not exist"));
}

// ---- target

std::pair<EspdlTarget, std::string> chosen(const TinyModel& model) {
  const auto result = import_espdl(model.file());
  EXPECT_TRUE(result.ok()) << result.status().text();
  if (!result.ok()) return {};
  return {result->target, result->target_reason};
}

// 1 * 2^-4 at 2^-3 is a half: half-up gives 1, half-even 0.
TinyModel tie(std::int64_t expected) {
  TinyModel model = one_node({"RequantizeLinear", {}, {}}, {1, 2}, {1, 2}, -4, -3);
  model.test_inputs = {{"x", {1, 2}, Type::INT8, {1, 4}, {-4}}};
  model.test_outputs = {{"y", {1, 2}, Type::INT8, {expected, 2}, {-3}}};
  return model;
}

TEST(EspdlTarget, IsTakenFromTheOptionThenTheFile) {
  TinyModel model = test::tiny_conv();
  EXPECT_EQ(import_espdl(model.file(), {EspdlTarget::esp32p4})->target, EspdlTarget::esp32p4);
  EXPECT_EQ(chosen(model).first, EspdlTarget::c);
  EXPECT_THAT(chosen(model).second, HasSubstr("layout NWC"));
  model.metadata = {{"target", "esp32s3"}};
  EXPECT_EQ(chosen(model).first, EspdlTarget::esp32s3);
  EXPECT_THAT(chosen(model).second, HasSubstr("metadata says esp32s3"));
}

TEST(EspdlTarget, PerChannelExponentsAndWideBiasesMeanEsp32p4) {
  TinyModel model = test::tiny_conv();
  model.constants[0].layout = "(N/16)WC16_UNALIGNED";  // three channels: all of them are the tail
  EXPECT_EQ(chosen(model).first, EspdlTarget::esp32s3);
  EXPECT_THAT(chosen(model).second, HasSubstr("guess"));
  TinyModel wide = model;
  wide.constants[1].values = {3, 1 << 20, -7};
  EXPECT_EQ(chosen(wide).first, EspdlTarget::esp32p4);
  EXPECT_THAT(chosen(wide).second, HasSubstr("20 bits"));
  model.constants[0].exponents = {-2, -3, -2};
  model.constants[1].exponents = {-6, -7, -6};
  EXPECT_EQ(chosen(model).first, EspdlTarget::esp32p4);
  EXPECT_THAT(chosen(model).second, HasSubstr("one exponent per channel"));
}

TEST(EspdlTarget, IsTheOneWhoseRoundingGivesTheTestValues) {
  EXPECT_EQ(chosen(tie(1)).first, EspdlTarget::esp32s3);
  EXPECT_THAT(chosen(tie(1)).second, HasSubstr("half-up rounding reproduces"));
  EXPECT_EQ(chosen(tie(0)).first, EspdlTarget::esp32p4);
  EXPECT_THAT(chosen(tie(0)).second, HasSubstr("half-even rounding reproduces"));
  TinyModel silent = tie(0);
  silent.test_outputs.clear();
  EXPECT_EQ(chosen(silent).first, EspdlTarget::esp32s3);
  EXPECT_THAT(chosen(silent).second, HasSubstr("nothing in the file tells"));
}

TEST(EspdlImporter, TestValuesBecomeVectorsWhenTheyFit) {
  EXPECT_EQ(import(tie(1)).vectors.size(), 1u);
  TinyModel stale = tie(1);
  stale.inputs[0].shape = {1, 1};
  EXPECT_TRUE(import(stale).vectors.empty());
}

// FlatBuffers' verifier alone would look at four hundred million texts: one node with one list, thousands of
// times.
TEST(EspdlImporter, ListsThatNodesShareAreNotReadWithoutEnd) {
  flatbuffers::FlatBufferBuilder builder;
  const auto names = builder.CreateVector(std::vector(20'000, builder.CreateString("x")));
  const auto node = espdl::CreateNode(builder, names);
  const auto graph = espdl::CreateGraph(builder, builder.CreateVector(std::vector(20'000, node)));
  espdl::ModelBuilder model(builder);
  model.add_graph(graph);
  builder.Finish(model.Finish());
  const auto file =
      wrap_payload(std::as_bytes(std::span(builder.GetBufferPointer(), std::size_t{builder.GetSize()})));
  ASSERT_TRUE(file.ok());
  const auto result = import_espdl(*file);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().text()), HasSubstr("so often that copies take more than 16 times"));
}

// A small file must not become gigabytes of copies: one constant, thousands of times.
TEST(EspdlImporter, ConstantsThatAreOneAreNotCopiedWithoutEnd) {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<std::int64_t> dims = {32000};
  const std::vector<espdl::AlignedBytes> data(2000);
  const auto constant =
      espdl::CreateTensorDirect(builder, &dims, Type::INT8, nullptr, nullptr, nullptr, "w", nullptr, &data);
  const auto graph = espdl::CreateGraph(builder, 0, 0, builder.CreateVector(std::vector(5000, constant)));
  espdl::ModelBuilder model(builder);
  model.add_graph(graph);
  builder.Finish(model.Finish());
  const auto file =
      wrap_payload(std::as_bytes(std::span(builder.GetBufferPointer(), std::size_t{builder.GetSize()})));
  ASSERT_TRUE(file.ok());
  const auto result = import_espdl(*file);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().text()), HasSubstr("so often that copies take more than 16 times"));
}

}  // namespace
}  // namespace runnel::compiler
