// What the compiler has for the Ethos-U85 alone: each in one operation, with the CPU's bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/compiler/npu/on_npu.h"

namespace runnel::test {
namespace {

namespace ethos_u = compiler::ethos_u;
using compiler::Graph;
using compiler::Node;
using compiler::Tensor;
using compiler::TensorId;
using Shape = std::vector<std::int32_t>;

class U85 : public testing::Test {
 protected:
  TensorId tensor(Shape shape, int exponent, DType dtype = DType::int8) {
    Tensor made;
    made.name = "t" + std::to_string(graph_.tensors.size());
    made.shape = std::move(shape);
    made.dtype = dtype;
    if (dtype == DType::int8) made.exponents = {static_cast<std::int8_t>(exponent)};
    graph_.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }
  Node& node(OpCode code, std::vector<TensorId> inputs, TensorId y) {
    Node made;
    made.name = "n" + std::to_string(graph_.nodes.size());
    made.code = code;
    made.inputs = std::move(inputs);
    made.outputs = {y};
    made.rounding = kernels::Rounding::half_up;
    graph_.nodes.push_back(std::move(made));
    return graph_.nodes.back();
  }
  // A convolution of one tap with weights -5 to 5.
  TensorId pointwise(TensorId x, std::int32_t channels) {
    Shape shape = graph_.tensors[static_cast<std::size_t>(x)].shape;
    const std::int32_t depth = shape.back();
    shape.back() = channels;
    const TensorId w = tensor({channels, 1, 1, depth}, -6), y = tensor(shape, -4);
    std::vector<std::byte> values(static_cast<std::size_t>(channels * depth));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::byte>(static_cast<int>(i * 7 % 11) - 5);
    graph_.tensors[static_cast<std::size_t>(w)].data = values;
    node(OpCode::conv, {x, w}, y).options = compiler::ConvOptions{};
    return y;
  }
  // The computing operations for one configuration; all are compared with the CPU.
  std::vector<npu::Operation> compiled(TensorId x, TensorId y) {
    graph_.inputs = {x};
    graph_.time_axes = {-1};
    graph_.outputs = {y};
    std::vector<npu::Operation> computing;
    for (const char* accelerator : kU85.accelerators) {
      ethos_u::CompiledGraph made;
      const Status status = compare_whole(graph_, npu_options(accelerator), 5, 3, &made);
      EXPECT_TRUE(status.ok()) << accelerator << ": " << status.text();
      if (!status.ok()) return {};
      for (const auto& one : made.nodes) EXPECT_GE(one.segment, 0) << one.name << ": " << one.reason;
      const auto all = operations_of(made);
      EXPECT_TRUE(all.ok());
      computing.clear();
      std::copy_if(all->begin(), all->end(), std::back_inserter(computing),
                   [](const npu::Operation& op) { return op.computes(); });
    }
    return computing;
  }

  Graph graph_;
};

TEST_F(U85, ColumnsBecomeChannelsInOneOperation) {
  const TensorId x = tensor({1, 5, 9, 20}, -4), y = tensor({1, 5, 20, 9}, -4);
  node(OpCode::transpose, {x}, y).options = compiler::TransposeOptions{{0, 1, 3, 2}};
  const auto operations = compiled(x, y);
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations[0].u85.transpose, npu::u85::Transpose::hcw);
}

TEST_F(U85, TablesArePartOfTheOperationBefore) {
  const TensorId x = tensor({1, 6, 7, 12}, -4), y = tensor({1, 6, 7, 20}, -7);
  node(OpCode::sigmoid, {pointwise(x, 20)}, y);
  const auto operations = compiled(x, y);
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations[0].kind, npu::OperationKind::conv);
  EXPECT_EQ(operations[0].u85.function, npu::u85::Function::s8_s8);
}

TEST_F(U85, TablesStayAloneWhereTheirInputIsReadTwice) {
  const TensorId x = tensor({1, 6, 7, 12}, -4), a = pointwise(x, 12), b = tensor({1, 6, 7, 12}, -7),
                 y = tensor({1, 6, 7, 12}, -3);
  node(OpCode::sigmoid, {a}, b);
  node(OpCode::mul, {a, b}, y).arithmetic = Arithmetic::exact;
  graph_.nodes.back().options = compiler::BinaryOptions{};
  EXPECT_EQ(compiled(x, y).size(), 3u);
}

TEST_F(U85, MultipliesTwoMatrices) {
  const TensorId x = tensor({2, 9, 20}, -4), turned = tensor({2, 20, 9}, -4), y = tensor({2, 9, 9}, 0);
  node(OpCode::transpose, {x}, turned).options = compiler::TransposeOptions{{0, 2, 1}};
  node(OpCode::matmul, {x, turned}, y).options = compiler::FullyConnectedOptions{};
  const auto operations = compiled(x, y);
  EXPECT_EQ(std::count_if(operations.begin(), operations.end(),
                          [](const npu::Operation& op) { return op.u85.second_weights; }),
            2);
}

TEST_F(U85, FindsPositionsAndExtremes) {
  const TensorId x = tensor({1, 5, 9, 20}, -4), largest = tensor({1, 5, 1, 20}, -4),
                 y = tensor({1, 5, 1, 1}, 0, DType::int32);
  node(OpCode::reduce_max, {x}, largest).options = compiler::ReduceOptions{{2}};
  node(OpCode::arg_max, {largest}, y).options = compiler::AxisOptions{3};
  const auto operations = compiled(x, y);
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[0].mode, static_cast<std::uint8_t>(npu::u85::PoolMode::max));
  EXPECT_EQ(operations[1].mode, static_cast<std::uint8_t>(npu::u85::PoolMode::argmax_x));
}

TEST_F(U85, ResizesBothWays) {
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear}) {
    graph_ = {};
    const TensorId x = tensor({1, 5, 6, 20}, -4), y = tensor({1, 10, 24, 20}, -4);
    node(OpCode::resize, {x}, y).options = compiler::ResizeOptions{mode, ResizeCoordinates::asymmetric};
    const auto operations = compiled(x, y);
    ASSERT_EQ(operations.size(), 1u);
    EXPECT_EQ(operations[0].kind, npu::OperationKind::resize);
  }
}

// Weights of which two of four are zeros take half the products.
TEST_F(U85, UsesTheSparsityOfWeights) {
  const TensorId x = tensor({1, 12, 12, 512}, -4), y = pointwise(x, 64);
  auto& values = *graph_.tensors[1].data;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % 4 > 1) values[i] = std::byte{0};
  }
  const auto operations = compiled(x, y);
  ASSERT_FALSE(operations.empty());
  for (const npu::Operation& op : operations) EXPECT_TRUE(op.u85.sparse_weights);
}

// The smallest version needs no more memory than the quickest one, and gives the same bytes; a limit takes
// it, or says what it needs.
TEST_F(U85, KeepsToALimitOfMemory) {
  const TensorId x = tensor({1, 16, 16, 32}, -4);
  TensorId y = x;
  for (int i = 0; i < 4; ++i) y = pointwise(y, 32);
  graph_.inputs = {x};
  graph_.time_axes = {-1};
  graph_.outputs = {y};
  const auto needs = [&](const ethos_u::Options& options) -> Result<std::size_t> {
    ethos_u::CompiledGraph made;
    RUNNEL_TRY(compare_whole(graph_, options, 1, 1, &made));
    return made.segments[0].scratch + made.segments[0].fast_scratch;
  };
  for (const char* accelerator : {"ethos-u55-128", "ethos-u85-256"}) {
    auto options = npu_options(accelerator);
    const auto quickest = needs(options);
    options.program.optimise = npu::Optimise::size;
    const auto smallest = needs(options);
    ASSERT_TRUE(quickest.ok() && smallest.ok());
    EXPECT_LT(*smallest, *quickest);
    options.program.optimise = npu::Optimise::speed;
    options.program.most_scratch = *smallest;
    const auto limited = needs(options);
    ASSERT_TRUE(limited.ok()) << limited.status().text();
    EXPECT_EQ(*limited, *smallest);
    options.program.most_scratch = *smallest - 1;
    const auto refused = needs(options);
    EXPECT_EQ(refused.status().code(), Code::out_of_memory);
    EXPECT_NE(refused.status().text().find(std::to_string(*smallest)), std::string_view::npos);
  }
}

// Older devices leave to the CPU what they have no operation for, and say so.
TEST_F(U85, OlderDevicesLeaveProductsToTheCpu) {
  const TensorId x = tensor({1, 9, 20}, -4), a = pointwise(x, 20), turned = tensor({1, 20, 9}, -4),
                 y = tensor({1, 9, 9}, 0);
  node(OpCode::transpose, {a}, turned).options = compiler::TransposeOptions{{0, 2, 1}};
  node(OpCode::matmul, {a, turned}, y).options = compiler::FullyConnectedOptions{};
  graph_.inputs = {x};
  graph_.time_axes = {-1};
  graph_.outputs = {y};
  const auto made = ethos_u::compile(graph_, npu_options("ethos-u55-128"));
  ASSERT_TRUE(made.ok()) << made.status().text();
  EXPECT_EQ(made->nodes.back().segment, -1);
  EXPECT_EQ(made->nodes.back().reason, "the compiler has no form of this operator for the NPU");
}

}  // namespace
}  // namespace runnel::test
