#include "compiler/ir/shapes.h"

#include <gtest/gtest.h>

#include <string>

namespace runnel::compiler {
namespace {

using Shape = std::vector<std::int32_t>;

// One node over tensors of the given shapes; the result's shape, or the refusal.
std::string inferred(OpCode code, const std::vector<Shape>& inputs, Options options,
                     const Shape& given = {}) {
  Graph graph;
  Node node;
  node.name = "node";
  node.code = code;
  node.options = std::move(options);
  for (const Shape& shape : inputs) {
    Tensor tensor;
    tensor.shape = shape;
    node.inputs.push_back(static_cast<TensorId>(graph.tensors.size()));
    graph.tensors.push_back(tensor);
  }
  Tensor output;
  output.shape = given;
  node.outputs.push_back(static_cast<TensorId>(graph.tensors.size()));
  graph.tensors.push_back(output);
  graph.nodes.push_back(node);
  const Status status = infer_shapes(graph);
  if (!status.ok()) return std::string(status.text());
  std::string text;
  for (const std::int32_t dim : graph.tensors.back().shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  return text;
}

ConvOptions conv(int stride, int dilation, int left, int right, int groups = 1) {
  ConvOptions options;
  options.stride_width = stride;
  options.dilation_width = dilation;
  options.pad_left = left;
  options.pad_right = right;
  options.groups = groups;
  return options;
}

TEST(Shapes, Windows) {
  EXPECT_EQ(inferred(OpCode::conv, {{1, 20, 4}, {7, 1, 3, 4}}, conv(1, 1, 0, 0)), "1x18x7");
  EXPECT_EQ(inferred(OpCode::conv, {{1, 20, 4}, {7, 1, 3, 4}}, conv(2, 4, 8, 0)), "1x10x7");
  EXPECT_EQ(inferred(OpCode::conv, {{1, 20, 4}, {4, 1, 3, 1}}, conv(1, 1, 1, 1, 4)), "1x20x4");
  ConvOptions flat;
  flat.pad_top = 1;
  flat.pad_right = 2;
  EXPECT_EQ(inferred(OpCode::conv, {{1, 9, 5, 2}, {6, 3, 3, 2}}, flat), "1x8x5x6");
  EXPECT_EQ(inferred(OpCode::conv, {{1, 2, 4}, {7, 1, 3, 4}}, conv(1, 1, 0, 0)),
            "node \"node\" (conv): dimension 1 of output 0 would be 0 for an input of [1, 2, 4]");
  EXPECT_EQ(inferred(OpCode::conv, {{1, 20, 4}, {7, 1, 3, 5}}, conv(1, 1, 0, 0)),
            "node \"node\" (conv): weights of [7, 1, 3, 5] in 1 groups for an input of [1, 20, 4]");
  PoolOptions pool;
  pool.kernel_width = 4;
  pool.stride_width = 3;
  EXPECT_EQ(inferred(OpCode::max_pool, {{1, 20, 4}}, pool), "1x6x4");
  pool.global = true;
  EXPECT_EQ(inferred(OpCode::average_pool, {{1, 20, 6, 4}}, pool), "1x1x1x4");
}

TEST(Shapes, WindowLengths) {
  EXPECT_EQ(window_length(10, 3, 1, 0, 0), 8);
  EXPECT_EQ(window_length(10, 3, 2, 2, 0), 5);
  EXPECT_EQ(window_length(2, 3, 1, 0, 0), 0);
  EXPECT_EQ(window_length(0, 1, 1, 0, 0), 0);
}

TEST(Shapes, Products) {
  EXPECT_EQ(inferred(OpCode::fully_connected, {{2, 5, 8}, {3, 8}}, FullyConnectedOptions{}), "2x5x3");
  EXPECT_EQ(
      inferred(OpCode::fully_connected, {{2, 5, 8}, {3, 7}}, FullyConnectedOptions{}),
      "node \"node\" (fully_connected): weights of [3, 7] for an input of [2, 5, 8], expected [outputs, 8]");
  EXPECT_EQ(inferred(OpCode::matmul, {{2, 1, 5, 8}, {3, 8, 4}}, {}), "2x3x5x4");
  EXPECT_NE(inferred(OpCode::matmul, {{5, 8}, {7, 4}}, {}).find("do not fit"), std::string::npos);
}

TEST(Shapes, Broadcasts) {
  EXPECT_EQ(inferred(OpCode::add, {{1, 20, 6}, {20, 1}}, BinaryOptions{}), "1x20x6");
  EXPECT_EQ(inferred(OpCode::mul, {{6}, {1, 20, 1}}, BinaryOptions{}), "1x20x6");
  EXPECT_EQ(inferred(OpCode::sub, {{1, 20, 6}, {21, 1}}, BinaryOptions{}),
            "node \"node\" (sub): operands of [1, 20, 6] and [21, 1] do not fit");
  EXPECT_EQ(inferred(OpCode::prelu, {{1, 20, 6}, {6}}, {}), "1x20x6");
  EXPECT_NE(inferred(OpCode::prelu, {{1, 20, 1}, {6}}, {}).find("slopes of [6]"), std::string::npos);
}

TEST(Shapes, Movement) {
  EXPECT_EQ(inferred(OpCode::reshape, {{1, 20, 6}}, {}, {4, 30}), "4x30");
  EXPECT_NE(inferred(OpCode::reshape, {{1, 20, 6}}, {}, {4, 31}).find("from [1, 20, 6] to [4, 31]"),
            std::string::npos);
  EXPECT_EQ(inferred(OpCode::transpose, {{1, 20, 6}}, TransposeOptions{{2, 0, 1}}), "6x1x20");
  EXPECT_NE(inferred(OpCode::transpose, {{1, 20, 6}}, TransposeOptions{{2, 0, 2}}).find("no permutation"),
            std::string::npos);
  EXPECT_EQ(inferred(OpCode::slice, {{10}}, SliceOptions{{9}, {-3}}, {4}), "4");
  EXPECT_NE(inferred(OpCode::slice, {{10}}, SliceOptions{{9}, {-3}}, {5})
                .find("5 elements from 9 in steps of -3 of 10"),
            std::string::npos);
  EXPECT_EQ(inferred(OpCode::concat, {{1, 4, 6}, {1, 5, 6}, {1, 1, 6}}, AxisOptions{1}), "1x10x6");
  EXPECT_NE(inferred(OpCode::concat, {{1, 4, 6}, {1, 5, 7}}, AxisOptions{1}).find("do not fit on axis 1"),
            std::string::npos);
  PadOptions pad;
  pad.before = {0, 3};
  pad.after = {1, 0};
  EXPECT_EQ(inferred(OpCode::pad, {{4, 3}}, pad), "5x6");
  pad.mode = PadMode::reflect;
  EXPECT_NE(inferred(OpCode::pad, {{4, 3}}, pad).find("reflecting 3 elements of 3"), std::string::npos);
  EXPECT_EQ(inferred(OpCode::reduce_mean, {{4, 3, 5}}, ReduceOptions{{0, 2}}), "1x3x1");
  EXPECT_NE(
      inferred(OpCode::reduce_mean, {{4, 3, 5}}, ReduceOptions{{3}}).find("axis 3 of a tensor of rank 3"),
      std::string::npos);
}

TEST(Shapes, Choices) {
  EXPECT_EQ(inferred(OpCode::where, {{1, 20, 1}, {6}, {1}}, {}), "1x20x6");
  EXPECT_NE(inferred(OpCode::where, {{1, 20, 2}, {6}, {1}}, {}).find("do not fit"), std::string::npos);
  EXPECT_EQ(inferred(OpCode::arg_max, {{4, 3, 5}}, AxisOptions{1}), "4x1x5");
  EXPECT_NE(inferred(OpCode::arg_max, {{4, 3, 5}}, AxisOptions{3}).find("axis 3 of a tensor of rank 3"),
            std::string::npos);
  EXPECT_EQ(inferred(OpCode::pow, {{4, 3}, {3}}, BinaryOptions{}), "4x3");
  EXPECT_EQ(inferred(OpCode::less, {{4, 1}, {3}}, {}), "4x3");
  EXPECT_EQ(inferred(OpCode::gelu, {{4, 3}}, FunctionOptions{}), "4x3");
  EXPECT_EQ(inferred(OpCode::reduce_l2, {{4, 3}}, ReduceOptions{{1}}), "4x1");
}

TEST(Shapes, OperandsThatAreNotThere) {
  EXPECT_EQ(inferred(OpCode::add, {{4}}, BinaryOptions{}), "node \"node\" (add): input 1 is absent");
  Graph graph;
  Node node;
  node.name = "lost";
  node.code = OpCode::relu;
  node.inputs = {7};
  graph.nodes.push_back(node);
  EXPECT_EQ(infer_shapes(graph).text(), "node \"lost\" (relu): input refers to tensor 7 of 0");
}

}  // namespace
}  // namespace runnel::compiler
