// What a file says about its usage, against its model: what is refused, and what is left open.
#include "inference/model/usage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using compiler::Graph;
using Bytes = std::vector<std::byte>;

compiler::Tensor tensor(const char* name, std::vector<std::int32_t> shape) {
  compiler::Tensor made;
  made.name = name;
  made.shape = std::move(shape);
  made.dtype = DType::float32;
  return made;
}

constexpr compiler::TensorId kX = 0, kSum = 1, kBefore = 2, kTotal = 3;

// total [1, 2] = before [1, 2] + sum, the sum over the frames of x [1, 4, 2]; both sums are outputs.
Graph sums() {
  Graph graph;
  graph.name = "sums";
  graph.tensors = {tensor("x", {1, 4, 2}), tensor("sum", {1, 2}), tensor("before", {1, 2}),
                   tensor("total", {1, 2})};
  graph.inputs = {kX, kBefore};
  graph.outputs = {kSum, kTotal};
  compiler::Node sum, add;
  sum.name = "reduce";
  sum.code = OpCode::reduce_sum;
  sum.inputs = {kX};
  sum.outputs = {kSum};
  sum.options = compiler::ReduceOptions{{1}};
  add.name = "add";
  add.code = OpCode::add;
  add.arithmetic = Arithmetic::exact;
  add.inputs = {kSum, kBefore};
  add.outputs = {kTotal};
  add.options = compiler::BinaryOptions{};
  graph.nodes = {sum, add};
  graph.pipeline.usage = UsageKind::step;
  graph.pipeline.states = {{kTotal, kBefore}};
  return graph;
}

// y = relu(x), both of this shape: an input without state.
Graph one_input(std::vector<std::int32_t> shape, UsageKind usage) {
  Graph graph;
  graph.name = "one";
  graph.tensors = {tensor("x", shape), tensor("y", shape)};
  graph.inputs = {0};
  graph.outputs = {1};
  compiler::Node relu;
  relu.name = "relu";
  relu.code = OpCode::relu;
  relu.inputs = {0};
  relu.outputs = {1};
  graph.nodes = {relu};
  graph.pipeline.usage = usage;
  return graph;
}

// Without a streaming form, so that the shapes are what counts.
Bytes written(const Graph& graph, bool strip_names = false) {
  compiler::WriteOptions options;
  options.plan = false;
  options.strip_names = strip_names;
  const auto made = compiler::write_model(graph, options);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return made.ok() ? made->bytes : Bytes();
}

std::string refusal(const Graph& graph, std::int64_t values = 0, bool strip_names = false) {
  const auto model = OwnedModel::from_bytes(written(graph, strip_names));
  if (!model.ok()) return "not opened: " + std::string(model.status().text());
  const auto usage = usage_of((*model)->model(), values);
  return usage.ok() ? "accepted" : std::string(usage.status().text());
}
std::string refusal(const std::function<void(compiler::PipelineSettings&)>& change) {
  Graph graph = sums();
  change(graph.pipeline);
  return refusal(graph);
}

TEST(ModelUsage, StepsWithState) {
  const auto model = OwnedModel::from_bytes(written(sums()));
  ASSERT_TRUE(model.ok()) << model.status().text();
  const auto usage = usage_of((*model)->model());
  ASSERT_TRUE(usage.ok()) << usage.status().text();
  EXPECT_EQ(usage->kind, UsageKind::step);
  EXPECT_EQ(usage->frames, 4);
  EXPECT_EQ(usage->advance, 4);
  EXPECT_EQ(usage->frame_values, 2);
  EXPECT_EQ(usage->time_axis, 1);
  ASSERT_NE(usage->pairs, nullptr);
  EXPECT_EQ(usage->pairs->size(), 1u);
  EXPECT_EQ((*model)->model().inputs()[static_cast<std::size_t>(usage->input)],
            (*model)->model().find_tensor("x"));
}

TEST(ModelUsage, NumbersOutsideOfTheirRange) {
  EXPECT_EQ(refusal([](auto& p) { p.step = -1; }), "usage step: step of -1 frames, expected 0 to 16777216");
  EXPECT_EQ(refusal([](auto& p) { p.look_ahead = (1 << 24) + 1; }),
            "usage step: look-ahead of 16777217 frames, expected 0 to 16777216");
  EXPECT_EQ(refusal([](auto& p) {
              p.usage = UsageKind::window;
              p.window = -7;
            }),
            "usage window: window of -7 frames, expected 0 to 16777216");
}

TEST(ModelUsage, NumbersAndStateOfAnotherUsage) {
  EXPECT_EQ(refusal([](auto& p) { p.hop = 3; }),
            "usage step: a hop of 3 frames, which belongs to another usage");
  EXPECT_EQ(refusal([](auto& p) {
              p.usage = UsageKind::whole;
              p.context = 2;
            }),
            "usage whole: a context of 2 frames, which belongs to another usage");
  EXPECT_EQ(refusal([](auto& p) { p.usage = UsageKind::window; }),
            "usage window: state from outputs to inputs, which belongs to usage step");
}

TEST(ModelUsage, StateBetweenTensorsThatAreNoPorts) {
  EXPECT_EQ(refusal([](auto& p) {
              p.states = {{kX, kBefore}};
            }),
            "usage step: state from tensor 0 to 1, expected an output and an input of the model");
  EXPECT_EQ(refusal([](auto& p) {
              p.states = {{kTotal, kBefore}, {kSum, kBefore}};
            }),
            "usage step: input 'before' [1,2] takes the state of 2 outputs, expected one");
}

// Where the file has no names, tensors have numbers.
TEST(ModelUsage, StateOfAnotherSize) {
  Graph graph = sums();
  graph.pipeline.states = {{kTotal, kX}};
  EXPECT_EQ(refusal(graph),
            "usage step: state from 'total' [1,2] to 'x' [1,4,2], expected the same type, scale and size");
  EXPECT_EQ(refusal(graph, 0, true),
            "usage step: state from #3 [1,2] to #0 [1,4,2], expected the same type, scale and size");
}

TEST(ModelUsage, FramesThatDoNotFitTheInput) {
  EXPECT_EQ(refusal([](auto& p) {
              p.step = 5;
              p.context = 2;
              p.look_ahead = 1;
            }),
            "usage step: 8 frames (2 of them context) (1 of them look-ahead) do not fit input 'x' [1,4,2], "
            "expected one of its dimensions to have them");
  EXPECT_EQ(refusal([](auto& p) { p.step = 3; }),
            "usage step: 3 frames do not fit input 'x' [1,4,2], expected one of its dimensions to have them");
  EXPECT_EQ(refusal(one_input({1, 12}, UsageKind::window), 5),
            "usage window: input 'x' [1,12] is no whole number of frames of 5 values");
  Graph clip = one_input({1, 12}, UsageKind::window);
  clip.pipeline.window = 5;
  EXPECT_EQ(
      refusal(clip),
      "usage window: 5 frames do not fit input 'x' [1,12], expected one of its dimensions to have them");
}

// One dimension for the values of all frames.
TEST(ModelUsage, FramesInOneDimension) {
  for (const bool said : {true, false}) {
    Graph graph = one_input({1, 12}, UsageKind::window);
    if (said) graph.pipeline.window = 4;
    graph.pipeline.hop = 2;
    const auto model = OwnedModel::from_bytes(written(graph));
    ASSERT_TRUE(model.ok()) << model.status().text();
    const auto usage = usage_of((*model)->model(), said ? 0 : 3);
    ASSERT_TRUE(usage.ok()) << usage.status().text();
    EXPECT_EQ(usage->time_axis, -1);
    EXPECT_EQ(usage->frames, 4);
    EXPECT_EQ(usage->advance, 2);
    EXPECT_EQ(usage->frame_values, 3);
  }
}

// The same file without the section.
Bytes without_pipeline(const Bytes& bytes) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::Section>> kept;
  for (const fb::Section* section : *fb::GetModel(bytes.data())->sections()) {
    if (section->kind() == fb::SectionKind::pipeline) continue;
    builder.PreAlign(section->data()->size(), 64);
    const auto data = builder.CreateVector(section->data()->data(), section->data()->size());
    kept.push_back(fb::CreateSection(builder, section->kind(), section->crc32c(), data));
  }
  fb::FinishModelBuffer(builder, fb::CreateModel(builder, 1, builder.CreateVector(kept), 1));
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  Bytes made(first, first + builder.GetSize());
  const auto* root = reinterpret_cast<const flatbuffers::Table*>(fb::GetModel(made.data()));
  const auto at = reinterpret_cast<const std::byte*>(root->GetAddressOf(fb::Model::VT_BYTES)) - made.data();
  flatbuffers::WriteScalar(made.data() + at, static_cast<std::uint64_t>(made.size()));
  return made;
}

TEST(ModelUsage, AFileThatSaysNothingIsAStreamWhereItCanBeOneAndElseAClip) {
  for (const bool plan : {true, false}) {
    compiler::WriteOptions options;
    options.plan = plan;
    // Said by the file, and not to be found in it again.
    const auto made = compiler::write_model(one_input({1, 20, 3}, UsageKind::step), options);
    ASSERT_TRUE(made.ok()) << made.status().text();
    const auto model = OwnedModel::from_bytes(without_pipeline(made->bytes));
    ASSERT_TRUE(model.ok()) << model.status().text();
    ASSERT_EQ((*model)->model().pipeline(), nullptr);
    ASSERT_EQ((*model)->model().plan() != nullptr, plan);
    const auto usage = usage_of((*model)->model());
    ASSERT_TRUE(usage.ok()) << usage.status().text();
    EXPECT_EQ(usage->kind, plan ? UsageKind::stream : UsageKind::whole);
    EXPECT_EQ(usage->stepped(), !plan);
    if (plan) continue;
    EXPECT_EQ(usage->frames, 20);
    EXPECT_EQ(usage->frame_values, 3);
  }
}

TEST(ModelUsage, Names) {
  EXPECT_EQ(name_of(UsageKind::stream), "stream");
  EXPECT_EQ(name_of(UsageKind::whole), "whole");
  EXPECT_EQ(name_of(static_cast<UsageKind>(9)), "unknown");
}

}  // namespace
}  // namespace runnel
