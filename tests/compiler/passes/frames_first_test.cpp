// Transpositions at the borders of a network go; what it computes stays.
#include "compiler/passes/frames_first.h"

#include <gtest/gtest.h>

#include <span>

#include "compiler/ir/graph_editor.h"
#include "compiler/run_whole.h"
#include "tests/compiler/quantize/small_graph.h"

namespace runnel::test {
namespace {

using compiler::Graph;
using compiler::Node;
using compiler::TensorId;

// The small graph with channels first outside: x [1, 4, T] -> transpose -> ... -> transpose -> y [1, 3, T].
Graph channels_first() {
  SmallGraph small;
  Graph graph = small.graph;
  const auto add = [&](const char* name, std::vector<std::int32_t> shape) {
    compiler::Tensor made;
    made.name = name;
    made.shape = std::move(shape);
    made.dtype = DType::float32;
    graph.tensors.push_back(made);
    return static_cast<TensorId>(graph.tensors.size()) - 1;
  };
  const auto turn = [](const char* name, TensorId from, TensorId to) {
    Node node;
    node.name = name;
    node.code = OpCode::transpose;
    node.inputs = {from};
    node.outputs = {to};
    node.options = compiler::TransposeOptions{{0, 2, 1}};
    return node;
  };
  const TensorId x = add("outer x", {1, 4, 24}), y = add("outer y", {1, 3, 24});
  graph.nodes.insert(graph.nodes.begin(), turn("in", x, graph.inputs[0]));
  graph.nodes.push_back(turn("out", graph.outputs[0], y));
  graph.inputs = {x};
  graph.outputs = {y};
  graph.time_axes = {2};
  return graph;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}
std::vector<std::byte> turned(std::vector<std::int32_t> shape, const std::vector<std::byte>& bytes) {
  compiler::Tensor tensor;
  tensor.shape = std::move(shape);
  tensor.dtype = DType::float32;
  tensor.data = bytes;
  return *compiler::transposed_constant(tensor, {0, 2, 1}).data;
}

TEST(FramesFirst, BordersHaveTheOrderOfTheNetwork) {
  const Graph before = channels_first();
  Graph graph = before;
  SmallGraph small;
  const std::vector<std::byte> x = bytes_of(small.clips(1)[0][0]);  // [1, 24, 4]
  const auto expected = compiler::run_whole(before, {{turned({1, 24, 4}, x)}});
  ASSERT_TRUE(expected.ok()) << expected.status().text();
  graph.vectors = {{{{graph.inputs[0], {1, 4, 24}, turned({1, 24, 4}, x)}},
                    {{graph.outputs[0], {1, 3, 24}, (*expected)[0][0]}}}};

  EXPECT_EQ(compiler::put_frames_first(graph), (std::vector<std::string>{"outer x", "outer y"}));
  const auto at = [&](TensorId id) -> const compiler::Tensor& {
    return graph.tensors[static_cast<std::size_t>(id)];
  };
  EXPECT_EQ(graph.nodes.size() + 2, before.nodes.size());
  EXPECT_EQ(at(graph.inputs[0]).shape, (std::vector<std::int32_t>{1, 24, 4}));
  EXPECT_EQ(at(graph.outputs[0]).shape, (std::vector<std::int32_t>{1, 24, 3}));
  EXPECT_EQ(at(graph.inputs[0]).name, "outer x");
  EXPECT_EQ(at(graph.outputs[0]).name, "outer y");
  EXPECT_EQ(graph.time_axes, std::vector<int>{1});
  const auto found = compiler::run_whole(graph, {{x}});
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_EQ(turned({1, 24, 3}, (*found)[0][0]), (*expected)[0][0]);
  // The self-test says the same in the new order.
  EXPECT_EQ(graph.vectors[0].inputs[0].data, x);
  EXPECT_EQ(graph.vectors[0].inputs[0].shape, at(graph.inputs[0]).shape);
  EXPECT_EQ(graph.vectors[0].outputs[0].tensor, graph.outputs[0]);
  EXPECT_EQ(graph.vectors[0].outputs[0].data, (*found)[0][0]);
  EXPECT_TRUE(compiler::put_frames_first(graph).empty());
}

TEST(FramesFirst, LeavesAloneWhatIsNoBorder) {
  Graph two_readers = channels_first();
  Node other = two_readers.nodes[0];  // somebody who wants channels first
  other.name = "other";
  other.code = OpCode::relu;
  other.options = compiler::Options();
  two_readers.tensors.push_back(two_readers.tensors[static_cast<std::size_t>(two_readers.inputs[0])]);
  other.outputs = {static_cast<TensorId>(two_readers.tensors.size()) - 1};
  two_readers.nodes.push_back(other);
  Graph state = channels_first(), no_time = channels_first();
  state.pipeline.states = {{state.outputs[0], state.inputs[0]}};
  no_time.time_axes = {-1};
  for (Graph* graph : {&two_readers, &state, &no_time}) {
    const std::size_t nodes = graph->nodes.size();
    EXPECT_TRUE(compiler::put_frames_first(*graph).empty());
    EXPECT_EQ(graph->nodes.size(), nodes);
  }
}

}  // namespace
}  // namespace runnel::test
