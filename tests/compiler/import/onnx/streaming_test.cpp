// What files of streaming recognisers are made of: relative shifts, states of integers, swoosh, metadata.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "compiler/import/usage.h"
#include "compiler/run_whole.h"
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

bool has(const compiler::Graph& graph, OpCode code) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const auto& node) { return node.code == code; });
}

// ---- GatherElements

struct Gathered {
  Dims x, indices;
  std::int64_t axis;
  std::vector<std::int64_t> values;
};

// The specification: y[i][j] = x[index[i][j]][j] for axis 0, x[i][index[i][j]] for axis 1.
Floats expected_of(const Gathered& one, const Floats& x) {
  Floats y;
  const std::int64_t rows = one.indices[0], columns = one.indices[1];
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      std::int64_t index = one.values[static_cast<std::size_t>(i * columns + j)];
      if (index < 0) index += one.x[static_cast<std::size_t>(one.axis)];
      const std::int64_t at = one.axis == 0 ? index * one.x[1] + j : i * one.x[1] + index;
      y.push_back(x[static_cast<std::size_t>(at)]);
    }
  }
  return y;
}

void expect_gathered(const Gathered& one, bool slices) {
  OnnxMaker maker;
  maker.input("x", one.x).output("y").integers("i", one.indices, one.values);
  set(maker.node("GatherElements", {"x", "i"}, {"y"}), "axis", one.axis);
  const Floats x = ramp(static_cast<std::size_t>(one.x[0] * one.x[1]));
  EXPECT_EQ(maker.run({x})[0], expected_of(one, x));
  const auto imported = maker.import();
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  EXPECT_EQ(has(imported->graph, OpCode::gather), !slices);
}

TEST(OnnxStreaming, GatherElementsPicksFromAnyAxis) {
  expect_gathered({{3, 4}, {3, 4}, 1, {3, -1, 0, 2, 1, 1, 1, -4, 0, 3, 0, 3}}, false);
  expect_gathered({{3, 4}, {2, 3}, 0, {2, 0, 1, -1, -3, 0}}, false);
  expect_gathered({{3, 4}, {2, 2}, 1, {0, 1, 2, 3}}, false);
}

// Rows that start one column earlier each are slices between two shapes; in blocks, as heads are.
TEST(OnnxStreaming, ARelativeShiftIsASlice) {
  for (const std::int64_t blocks : {1, 3}) {
    for (const std::int64_t frames : {2, 5}) {
      for (const std::int64_t left : {0, 3}) {
        const std::int64_t columns = 2 * frames - 1 + left, keys = frames + left;
        std::vector<std::int64_t> indices;
        for (std::int64_t row = 0; row < blocks * frames; ++row) {
          for (std::int64_t j = 0; j < keys; ++j) indices.push_back(frames - 1 - row % frames + j);
        }
        expect_gathered({{blocks * frames, columns}, {blocks * frames, keys}, 1, indices}, true);
        indices.back() = 0;  // one element elsewhere
        expect_gathered({{blocks * frames, columns}, {blocks * frames, keys}, 1, indices}, false);
      }
    }
  }
}

TEST(OnnxStreaming, GatherElementsOfConstantsIsComputedAndRefusalsNameTheNode) {
  OnnxMaker maker;
  maker.input("x", {2})
      .output("y")
      .integers("c", {1, 3}, {5, 6, 7})
      .integers("i", {1, 2}, {2, 0})
      .integers("rank", {1}, {2});
  set(maker.node("GatherElements", {"c", "i"}, {"picked"}), "axis", std::int64_t{1});
  set(maker.node("Cast", {"picked"}, {"real"}), "to", std::int64_t{::onnx::TensorProto::FLOAT});
  maker.node("Reshape", {"real", "rank"}, {"flat"});
  maker.node("Add", {"x", "flat"}, {"y"});
  EXPECT_THAT(maker.run({{1, 2}})[0], ElementsAre(8, 7));
  for (const std::int64_t index : {3, -4}) {
    OnnxMaker bad;
    bad.input("x", {1, 3}).output("y").integers("i", {1, 1}, {index});
    set(bad.node("GatherElements", {"x", "i"}, {"y"}), "axis", std::int64_t{1});
    EXPECT_THAT(
        std::string(bad.import().status().text()),
        HasSubstr("node \"GatherElements_1\" (GatherElements): index " + std::to_string(index) + " of 3"));
  }
  OnnxMaker wide;
  wide.input("x", {1, 3}).output("y").integers("i", {2, 1}, {0, 0});
  set(wide.node("GatherElements", {"x", "i"}, {"y"}), "axis", std::int64_t{1});
  EXPECT_THAT(std::string(wide.import().status().text()), HasSubstr("indices of"));
  OnnxMaker computed;
  computed.input("x", {1, 3}).input("i", {1, 1}, ::onnx::TensorProto::INT64).output("y");
  set(computed.node("GatherElements", {"x", "i"}, {"y"}), "axis", std::int64_t{1});
  EXPECT_THAT(std::string(computed.import().status().text()), HasSubstr("is computed at run time"));
}

// ---- what is missing

TEST(OnnxStreaming, WhatFollowsAMissingOperatorIsNotMissing) {
  OnnxMaker maker;
  maker.input("x", {4}).output("y").integers("repeats", {1}, {2});
  maker.node("Det", {"x"}, {"d"});
  maker.node("Shape", {"d"}, {"s"});
  maker.node("ConstantOfShape", {"s"}, {"c"});
  maker.node("Tile", {"c", "repeats"}, {"y"});
  EXPECT_EQ(std::string(maker.import().status().text()),
            "opset 17: operators that are not supported: Det (1): nodes \"Det_1\"");
}

// The name of the first input's batch is a batch wherever it stands.
TEST(OnnxStreaming, TheNameOfABatchIsABatchOnEveryAxis) {
  OnnxMaker maker;
  maker.input("x", {0, 5, 4}).input("cache", {7, 0, 4}).input("scores", {3, 4, 0}).output("y").output("z");
  auto* inputs = maker.model.mutable_graph()->mutable_input();
  for (const auto& [input, axis] : {std::pair{0, 0}, {1, 1}, {2, 2}})
    (*inputs)[input].mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(axis)->set_dim_param(
        "streams");
  set(maker.node("Transpose", {"cache"}, {"turned"}), "perm", Dims{1, 0, 2});
  set(maker.node("Concat", {"x", "turned"}, {"y"}), "axis", std::int64_t{1});
  maker.node("Neg", {"scores"}, {"z"});
  const auto imported = maker.import();
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  const auto shape = [&](std::size_t i) {
    return imported->graph.tensors[static_cast<std::size_t>(imported->graph.inputs[i])].shape;
  };
  EXPECT_THAT(shape(0), ElementsAre(1, 5, 4));
  EXPECT_THAT(shape(1), ElementsAre(7, 1, 4));
  EXPECT_THAT(shape(2), ElementsAre(3, 4, 1));
}

// ---- states and metadata

// y = x where fewer than 3 frames came before, else -x; frames that came: new_seen.
OnnxMaker counting() {
  OnnxMaker maker;
  maker.input("x", {1, 6, 2}).input("seen", {0}, ::onnx::TensorProto::INT64).output("y").output("new_seen");
  maker.model.mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("N");
  maker.integers("limit", {1}, {3})
      .integers("two", {1}, {2})
      .integers("zero", {1}, {0})
      .integers("end", {1}, {2})
      .integers("axis", {1}, {1});
  maker.node("Slice", {"x", "zero", "end", "axis"}, {"own"});
  maker.node("Neg", {"own"}, {"negative"});
  maker.node("LessOrEqual", {"limit", "seen"}, {"late"});
  maker.node("Where", {"late", "negative", "own"}, {"y"});
  maker.node("Add", {"seen", "two"}, {"new_seen"});
  return maker;
}
void describe(OnnxMaker& maker, const std::string& key, const std::string& value) {
  auto* entry = maker.model.add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

TEST(OnnxStreaming, IntegersOf64BitsAreComparedAndAdded) {
  const auto imported = counting().import();
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  const auto bytes_of = [](const auto& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(values[0]));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  };
  for (const auto& [seen, sign] : {std::pair{std::int64_t{2}, 1.0f},
                                   {std::int64_t{3}, -1.0f},
                                   {std::int64_t{1} << 40, -1.0f},
                                   {-(std::int64_t{1} << 40), 1.0f}}) {
    const auto results = compiler::run_whole(
        imported->graph, {{bytes_of(ramp(12, 1)), bytes_of(std::vector<std::int64_t>{seen})}});
    ASSERT_TRUE(results.ok()) << results.status().text();
    Floats y(4);
    std::memcpy(y.data(), (*results)[0][0].data(), sizeof(float) * 4);
    EXPECT_THAT(y, ElementsAre(sign * 1, sign * 2, sign * 3, sign * 4));
    std::int64_t next = 0;
    std::memcpy(&next, (*results)[0][1].data(), sizeof next);
    EXPECT_EQ(next, seen + 2);
  }
}

TEST(OnnxStreaming, NamesAndMetadataSayHowItIsRun) {
  OnnxMaker maker = counting();
  describe(maker, "decode_chunk_len", "4");
  describe(maker, "T", "6");
  const auto imported = maker.import();
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  const compiler::PipelineSettings& settings = imported->graph.pipeline;
  EXPECT_EQ(settings.usage, UsageKind::step);
  EXPECT_EQ(settings.step, 4);
  EXPECT_EQ(settings.look_ahead, 2);
  EXPECT_EQ(settings.output_frames, 2);
  ASSERT_EQ(settings.states.size(), 1u);
  EXPECT_EQ(settings.states[0], std::pair(imported->graph.outputs[1], imported->graph.inputs[1]));
  EXPECT_THAT(imported->notes.back(),
              HasSubstr("4 frames each (decode_chunk_len), which wait for 2 more (T); 2 frames come out"));
}

// What is given takes the place of what the file says, the rest stays.
TEST(OnnxStreaming, OptionsTakeThePlaceOfMetadata) {
  OnnxMaker maker = counting();
  describe(maker, "decode_chunk_len", "4");
  describe(maker, "T", "6");
  auto imported = maker.import();
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  compiler::UsageOptions usage;
  usage.step = 2;
  usage.look_ahead = 4;
  ASSERT_TRUE(compiler::apply_usage(usage, imported->graph).ok());
  const compiler::PipelineSettings& settings = imported->graph.pipeline;
  EXPECT_EQ(settings.step, 2);
  EXPECT_EQ(settings.look_ahead, 4);
  EXPECT_EQ(settings.output_frames, 2);
  EXPECT_EQ(settings.states.size(), 1u);
  usage = {};
  usage.usage = "whole";
  ASSERT_TRUE(compiler::apply_usage(usage, imported->graph).ok());
  EXPECT_TRUE(settings.states.empty());
  EXPECT_EQ(settings.step + settings.look_ahead + settings.output_frames, 0);
}

// Nothing is assumed where the file is not of this kind.
TEST(OnnxStreaming, OtherMetadataLeavesTheUsageOpen) {
  for (const auto& [step, frames] :
       {std::pair{"7", "6"}, {"4", "5"}, {"-4", "6"}, {"4x", "6"}, {"99999999999", "6"}}) {
    OnnxMaker maker = counting();
    describe(maker, "decode_chunk_len", step);
    describe(maker, "T", frames);
    const auto imported = maker.import();
    ASSERT_TRUE(imported.ok()) << imported.status().text();
    EXPECT_EQ(imported->graph.pipeline.states.size(), 1u);
    EXPECT_EQ(imported->graph.pipeline.step, 0) << step;
    EXPECT_EQ(imported->graph.pipeline.look_ahead, 0) << step;
  }
  OnnxMaker two = counting();  // a second input without state
  two.input("other", {1, 2});
  two.output("z").node("Neg", {"other"}, {"z"});
  const auto imported = two.import();
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  EXPECT_EQ(imported->graph.pipeline.usage, UsageKind::stream);
  EXPECT_TRUE(imported->graph.pipeline.states.empty());
}

// ---- swoosh

enum class Form { log_of_sum, with_infinity, largest_first, largest_first_turned };

OnnxMaker swoosh(Form form, float alpha, float beta, float gamma, float one = 1) {
  OnnxMaker maker;
  maker.input("x", {1, 40})
      .output("y")
      .floats("a", {}, {alpha})
      .floats("b", {}, {beta})
      .floats("c", {}, {gamma});
  maker.floats("one", {}, {one})
      .floats("zero", {}, {0})
      .floats("inf", {}, {std::numeric_limits<float>::infinity()});
  maker.node("Sub", {"x", "a"}, {"t"});
  if (form <= Form::with_infinity) {
    maker.node("Exp", {"t"}, {"e"});
    maker.node("Add", {"e", "one"}, {"sum"});
    maker.node("Log", {"sum"}, {form == Form::log_of_sum ? "soft" : "log"});
    if (form == Form::with_infinity) {
      maker.node("Equal", {"log", "inf"}, {"infinite"});
      maker.node("Where", {"infinite", "t", "log"}, {"soft"});
    }
  } else {
    maker.node("Max", {"zero", "t"}, {"above"});
    std::string size = "t";
    if (form == Form::largest_first_turned) {
      maker.node("Sub", {"zero", "t"}, {"turned"});
      size = "turned";
    }
    maker.node("Abs", {size}, {"size"});
    maker.node("Neg", {"size"}, {"negative"});
    maker.node("Exp", {"negative"}, {"e"});
    maker.node("Add", {"one", "e"}, {"sum"});
    maker.node("Log", {"sum"}, {"log"});
    maker.node("Add", {"above", "log"}, {"soft"});
  }
  maker.node("Mul", {"x", "b"}, {"slope"});
  maker.node("Sub", {"soft", "slope"}, {"d"});
  maker.node("Sub", {"d", "c"}, {"y"});
  return maker;
}

TEST(OnnxStreaming, SwooshInEveryFormIsOneOperator) {
  const Floats x = ramp(40, -18.5f, 1);
  for (const Form form :
       {Form::log_of_sum, Form::with_infinity, Form::largest_first, Form::largest_first_turned}) {
    const OnnxMaker maker = swoosh(form, 4, 0.08f, 0.035f);
    const auto imported = maker.import();
    ASSERT_TRUE(imported.ok()) << imported.status().text();
    ASSERT_EQ(imported->graph.nodes.size(), 1u) << static_cast<int>(form);
    EXPECT_EQ(imported->graph.nodes[0].code, OpCode::swoosh);
    Floats expected;
    for (const float v : x) {
      const auto value = static_cast<double>(v);
      expected.push_back(static_cast<float>(std::log1p(std::exp(value - 4)) - 0.08 * value - 0.035));
    }
    EXPECT_THAT(maker.run({x})[0], Pointwise(FloatNear(2e-6f), expected));
  }
}

TEST(OnnxStreaming, WhatIsNoSwooshStays) {
  const auto imported = swoosh(Form::log_of_sum, 4, 0.08f, 0.035f, 2).import();
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  EXPECT_FALSE(has(imported->graph, OpCode::swoosh));
  OnnxMaker maker = swoosh(Form::log_of_sum, 4, 0.08f, 0.035f);
  maker.output("log_too").node("Neg", {"soft"}, {"log_too"});  // another reader keeps what it reads
  const auto both = maker.import();
  ASSERT_TRUE(both.ok()) << both.status().text();
  EXPECT_TRUE(has(both->graph, OpCode::swoosh) && has(both->graph, OpCode::log));
}

}  // namespace
}  // namespace runnel
