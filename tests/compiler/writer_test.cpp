#include "compiler/write/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/host/heap_memory.h"
#include "inference/operator.h"
#include "inference/prepared.h"

namespace runnel::compiler {
namespace {

using testing::HasSubstr;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Tensor tensor(std::string name, std::vector<std::int32_t> shape, int exponent) {
  Tensor out;
  out.name = std::move(name);
  out.shape = std::move(shape);
  out.dtype = DType::int8;
  out.exponents = {static_cast<std::int8_t>(exponent)};
  return out;
}

// x [1, 6, 2] + row -> sum -> convolution (kernel 2, causal, per-channel scales) -> y. Tensors are numbered
// awkwardly, one of them (number 0) is used by nothing, and two constants are equal.
Graph small_graph() {
  Graph graph;
  graph.name = "small";
  graph.tensors = {tensor("unused", {3}, 0),         tensor("y", {1, 6, 2}, -3),
                   tensor("sum", {1, 6, 2}, -4),     tensor("row", {1, 1, 2}, -4),
                   tensor("x", {1, 6, 2}, -4),       tensor("w", {2, 1, 2, 2}, -5),
                   tensor("shifted", {1, 6, 2}, -4), tensor("row again", {1, 1, 2}, -4)};
  graph.tensors[3].data = bytes_of({5, -5});
  graph.tensors[5].data = bytes_of({1, 2, 3, 4, 5, 6, 7, 8});
  graph.tensors[5].exponents = {-5, -6};
  graph.tensors[5].channel_axis = 0;
  graph.tensors[7].data = graph.tensors[3].data;
  graph.tensors[1].non_negative = true;
  ConvOptions conv;
  conv.pad_left = 1;
  conv.activation = Activation::relu;
  graph.nodes = {
      {"first", OpCode::add, Arithmetic::espdl, {4, 3}, {2}, BinaryOptions{}, kernels::Rounding::half_even},
      {"second", OpCode::add, Arithmetic::exact, {2, 7}, {6}, BinaryOptions{}, kernels::Rounding::half_up},
      {"third", OpCode::conv, Arithmetic::espdl, {6, 5, kAbsent}, {1}, conv, kernels::Rounding::half_even}};
  graph.inputs = {4};
  graph.outputs = {1};
  graph.metadata = {{"key", "value"}, {"source.format", "test"}};
  graph.pipeline.usage = UsageKind::stream;
  graph.pipeline.sample_rate = 16000;
  graph.pipeline.front_end = "fbank";
  graph.pipeline.labels = {"yes", "no"};
  std::vector<std::byte> input(12, std::byte{1}), output(12, std::byte{2});
  graph.vectors = {{{{4, {1, 6, 2}, input}}, {{1, {1, 6, 2}, output}}}};
  return graph;
}

TEST(Writer, WhatIsWrittenIsReadBack) {
  const Graph graph = small_graph();
  const auto written = write_model(graph);
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_THAT(written->refusals, testing::IsEmpty());
  const auto opened = Model::open(written->bytes);
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  const Model& model = *opened;

  EXPECT_EQ(model.name(), "small");
  EXPECT_EQ(model.tensor_count(), 7);  // the unused one is left out
  EXPECT_EQ(model.operator_count(), 3);
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.tensor_name(model.inputs()[0]), "x");
  EXPECT_EQ(model.tensor_name(model.outputs()[0]), "y");
  EXPECT_EQ(model.find_tensor("unused"), -1);
  for (std::size_t i = 1; i < graph.tensors.size(); ++i) {
    const Tensor& expected = graph.tensors[i];
    const int index = model.find_tensor(expected.name);
    ASSERT_GE(index, 0) << expected.name;
    const TensorView found = model.tensor(index);
    EXPECT_EQ(
        std::vector<std::int32_t>(found.shape.dims.begin(), found.shape.dims.begin() + found.shape.rank),
        expected.shape)
        << expected.name;
    EXPECT_EQ(found.dtype, expected.dtype);
    EXPECT_EQ(std::vector<std::int8_t>(found.exponents.begin(), found.exponents.end()), expected.exponents)
        << expected.name;
    EXPECT_EQ(found.channel_axis, expected.channel_axis);
    EXPECT_EQ(found.non_negative, expected.non_negative) << expected.name;
    EXPECT_EQ(found.constant, expected.data.has_value()) << expected.name;
    if (expected.data) {
      EXPECT_EQ(std::vector<std::byte>(found.data.begin(), found.data.end()), *expected.data);
    }
  }
  for (int i = 0; i < 3; ++i) {
    const Node& expected = graph.nodes[static_cast<std::size_t>(i)];
    const fb::Operator& found = model.op(i);
    EXPECT_EQ(model.operator_name(i), expected.name);
    EXPECT_EQ(native(found.code()), expected.code);
    EXPECT_EQ(arithmetic_of(found), expected.arithmetic);
    EXPECT_EQ(found.rounding(), static_cast<std::uint8_t>(expected.rounding));
    ASSERT_EQ(found.inputs()->size(), expected.inputs.size());
    for (std::uint32_t k = 0; k < found.inputs()->size(); ++k) {
      const std::int32_t input = found.inputs()->Get(k);
      if (expected.inputs[k] == kAbsent)
        EXPECT_EQ(input, -1);
      else
        EXPECT_EQ(model.tensor_name(input), graph.tensors[static_cast<std::size_t>(expected.inputs[k])].name);
    }
  }
  const fb::ConvOptions* conv = model.op(2).options_as_ConvOptions();
  ASSERT_NE(conv, nullptr);
  EXPECT_EQ(conv->pad_left(), 1);
  EXPECT_EQ(native(conv->activation()), Activation::relu);
  EXPECT_EQ(model.metadata("key"), "value");
  EXPECT_EQ(model.metadata("source.format"), "test");
  ASSERT_NE(model.pipeline(), nullptr);
  EXPECT_EQ(model.pipeline()->sample_rate(), 16000);
  EXPECT_EQ(model.pipeline()->labels()->Get(1)->string_view(), "no");
  ASSERT_NE(model.vectors(), nullptr);
  const fb::VectorCase& recorded = *model.vectors()->cases()->Get(0);
  EXPECT_EQ(recorded.inputs()->Get(0)->tensor(), model.inputs()[0]);
  EXPECT_EQ(recorded.outputs()->Get(0)->tensor(), model.outputs()[0]);
  EXPECT_EQ(recorded.outputs()->Get(0)->data()->Get(3), 2);
}

TEST(Writer, SectionsAndConstantsAreAligned) {
  const auto written = write_model(small_graph());
  ASSERT_TRUE(written.ok());
  const auto* start = reinterpret_cast<const std::uint8_t*>(written->bytes.data());
  const fb::Model& file = *fb::GetModel(start);
  ASSERT_GE(file.sections()->size(), 7u);
  for (const fb::Section* section : *file.sections()) {
    const auto offset = section->data()->data() - start;
    EXPECT_EQ(offset % (section->kind() == fb::SectionKind::weights ? 64 : 16), 0)
        << fb::EnumNameSectionKind(section->kind());
  }
  EXPECT_EQ(written->bytes.size() % 64, 0u);
  const Model model = Model::open(written->bytes).value();
  const auto offset_of = [&](const char* name) {
    return model.tensor(model.find_tensor(name)).data.data() - written->bytes.data();
  };
  EXPECT_EQ(offset_of("row"), offset_of("row again")) << "equal constants are stored once";
  EXPECT_EQ(offset_of("row") % 64, 0);
  EXPECT_EQ(offset_of("w") % 64, 0);
  EXPECT_NE(offset_of("row"), offset_of("w"));
}

TEST(Writer, TheSameGraphGivesTheSameBytes) {
  const auto once = write_model(small_graph()), again = write_model(small_graph());
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(once->bytes, again->bytes);
}

TEST(Writer, NamesCanBeLeftOut) {
  WriteOptions options;
  options.strip_names = true;
  const auto written = write_model(small_graph(), options), full = write_model(small_graph());
  ASSERT_TRUE(written.ok());
  const Model model = Model::open(written->bytes).value();
  EXPECT_EQ(model.tensor_name(0), "");
  EXPECT_EQ(model.name(), "");
  EXPECT_LT(written->bytes.size(), full->bytes.size());
}

TEST(Writer, PlanAndMemoryAreRecorded) {
  WriteOptions options;
  options.blocks = {1, 4};
  const auto written = write_model(small_graph(), options);
  ASSERT_TRUE(written.ok());
  const Model model = Model::open(written->bytes).value();
  ASSERT_NE(model.plan(), nullptr);
  EXPECT_EQ(model.plan()->block_multiple(), 1);
  const fb::StreamTensor& read =
      *model.plan()->tensors()->Get(static_cast<std::uint32_t>(model.find_tensor("shifted")));
  EXPECT_EQ(read.time_axis(), 1);
  EXPECT_EQ(read.history(), 1) << "the convolution after it reads one frame back";
  ASSERT_NE(model.arenas(), nullptr);
  ASSERT_EQ(model.arenas()->plans()->size(), 2u);
  for (const fb::ArenaPlan* plan : *model.arenas()->plans()) {
    HeapMemory memory;
    PrepareOptions prepare;
    prepare.frames = plan->block();
    prepare.slack = false;
    prepare.isa = Isa::generic;
    prepare.alignment = 16;
    const auto prepared = Prepared::make(model, all_operators(), prepare, memory);
    ASSERT_TRUE(prepared.ok()) << prepared.status().text();
    EXPECT_EQ(plan->target()->string_view(), "generic");
    EXPECT_EQ(plan->arena_bytes(), (*prepared)->arena_bytes() + (*prepared)->scratch_bytes());
    EXPECT_EQ(plan->state_bytes(), (*prepared)->state_bytes());
  }
}

TEST(Writer, WhatCannotStreamSaysWhy) {
  Graph graph = small_graph();
  WriteOptions options;
  options.time_axes = {2};  // channels are no time for a convolution
  const auto written = write_model(graph, options);
  ASSERT_TRUE(written.ok()) << written.status().text();
  ASSERT_FALSE(written->refusals.empty());
  EXPECT_EQ(Model::open(written->bytes)->plan(), nullptr);
  options.time_axes = {3};
  EXPECT_THAT(write_model(graph, options).status().text(), HasSubstr("time axis 3 of input 0"));
  options.time_axes = {1, 1};
  EXPECT_THAT(write_model(graph, options).status().text(), HasSubstr("2 time axes for 1 inputs"));
}

std::string refusal(const Graph& graph) { return std::string(write_model(graph).status().text()); }

TEST(Writer, GraphsThatDoNotHoldTogetherAreRefused) {
  Graph graph = small_graph();
  graph.nodes[0].inputs[0] = 0;
  EXPECT_THAT(refusal(graph),
              HasSubstr("operator \"first\" reads tensor \"unused\", which nothing before it computes"));
  graph = small_graph();
  graph.nodes[1].outputs[0] = 2;
  EXPECT_THAT(refusal(graph), HasSubstr("operator \"second\" computes tensor \"sum\" a second time"));
  graph = small_graph();
  graph.nodes[1].inputs[0] = 99;
  EXPECT_THAT(refusal(graph), HasSubstr("operator \"second\" refers to tensor 99, the graph has 8"));
  graph = small_graph();
  graph.outputs = {0};
  EXPECT_THAT(refusal(graph), HasSubstr("graph output \"unused\" is computed by nothing"));
  graph = small_graph();
  graph.vectors[0].inputs[0].tensor = 0;
  EXPECT_THAT(refusal(graph), HasSubstr("test vector names tensor 0"));
  graph = small_graph();
  graph.nodes[1].arithmetic = Arithmetic{77};
  EXPECT_THAT(refusal(graph), HasSubstr("add version 77"));
  graph = small_graph();
  graph.tensors[1].shape = {1, 5, 2};
  EXPECT_THAT(refusal(graph), HasSubstr("third"));
}

}  // namespace
}  // namespace runnel::compiler
