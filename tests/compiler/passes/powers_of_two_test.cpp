// Multipliers folded into powers of two: every scale, and how far the results may move.
#include "compiler/passes/powers_of_two.h"

#include <cmath>
#include <cstring>
#include <random>

#include "tests/compiler/import/tflite/tiny_tflite.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using compiler::Graph;
using tflite::BuiltinOptions;

// A dense layer with ReLU6, a function, and a sum.
Graph small_graph() {
  TinyTflite model;
  std::mt19937 random(3);
  std::vector<std::int8_t> weights(4 * 6);
  for (auto& weight : weights) weight = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  const int x = model.tensor(kInt8, {1, 6}, 0.031f, -20),
            w = model.tensor(kInt8, {4, 6}, 0.0071f, 0, weights);
  const int b = model.tensor<std::int32_t>(kInt32, {4}, 0.031f * 0.0071f, 0, {900, -4000, 2500, 10}),
            f = model.tensor(kInt8, {1, 4}, 0.0236f, -128);
  model.op(Builtin::FULLY_CONNECTED, {x, w, b}, {f}, BuiltinOptions::FullyConnected,
           tflite::CreateFullyConnectedOptions(model.builder(), 3));
  const int s = model.tensor(kInt8, {1, 4}, 1.0f / 256, -128), y = model.tensor(kInt8, {1, 4}, 0.041f, -100);
  model.op(Builtin::LOGISTIC, {f}, {s});
  model.op(Builtin::ADD, {f, s}, {y}, BuiltinOptions::Add, tflite::CreateArithmeticOptions(model.builder()));
  auto graph = compiler::import_tflite(model.file({x}, {y}));
  EXPECT_TRUE(graph.ok()) << graph.status().text();
  return std::move(graph).value();
}

TEST(PowersOfTwo, EveryScaleOfANodeIsOne) {
  Graph graph = small_graph();
  ASSERT_TRUE(compiler::to_powers_of_two(graph).ok());
  for (const compiler::Node& node : graph.nodes) {
    EXPECT_NE(node.arithmetic, Arithmetic::tflite) << node.name;
    EXPECT_EQ(node.rounding, kernels::Rounding::half_even) << node.name;
    for (const auto& list : {node.inputs, node.outputs}) {
      for (const compiler::TensorId id : list) {
        const compiler::Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
        EXPECT_TRUE(tensor.scales.empty()) << tensor.name;
        if (tensor.dtype == DType::int8) {
          EXPECT_FALSE(tensor.exponents.empty()) << tensor.name;
        }
      }
    }
  }
  EXPECT_TRUE(RunnableGraph::make(graph).ok());
}

// The coarsest step on the way to the output is 2^-4 (range 0.041 * 227 = 9.3), inputs and weights bring less
// than as much again.
TEST(PowersOfTwo, TheDifferenceIsMeasuredAndSmall) {
  const Graph graph = small_graph();
  Graph folded = graph;
  ASSERT_TRUE(compiler::to_powers_of_two(folded).ok());
  const auto first = compiler::compare(graph, folded, 64, 7), again = compiler::compare(graph, folded, 64, 7),
             other = compiler::compare(graph, folded, 64, 8);
  ASSERT_TRUE(first.ok()) << first.status().text();
  ASSERT_EQ(first->size(), 1u);
  const compiler::Difference& d = (*first)[0];
  EXPECT_EQ(d.values, 256);
  EXPECT_GT(d.largest, 0);
  EXPECT_LT(d.largest, 0.25);
  EXPECT_LT(d.rms, 0.08);
  EXPECT_LE(d.rms, d.largest);
  EXPECT_GT(d.signal_rms, 1);
  EXPECT_EQ(d.rms, (*again)[0].rms);
  EXPECT_NE(d.rms, (*other)[0].rms);
}

TEST(PowersOfTwo, NothingMovesWhereAllScalesAreThat) {
  TinyTflite model;
  const int x = model.tensor(kInt8, {1, 4}, 0.5f, 0), y = model.tensor(kInt8, {1, 4}, 1.0f, 0);
  model.op(Builtin::RELU, {x}, {y});
  const auto graph = compiler::import_tflite(model.file({x}, {y}));
  ASSERT_TRUE(graph.ok());
  Graph folded = *graph;
  ASSERT_TRUE(compiler::to_powers_of_two(folded).ok());
  EXPECT_EQ(folded.tensors[static_cast<std::size_t>(folded.inputs[0])].exponents,
            std::vector<std::int8_t>{-1});
  const auto differences = compiler::compare(*graph, folded, 16, 1);
  ASSERT_TRUE(differences.ok());
  EXPECT_LE((*differences)[0].largest, 1.0);  // ties: away from zero before, to even now
}

// (a - b)^2 is computed in float32 and rounded once.
TEST(PowersOfTwo, SquaredDifferencesAreRoundedOnce) {
  TinyTflite model;
  const int a = model.tensor(kInt8, {1, 3}, 0.5f, 0), b = model.tensor(kInt8, {1, 3}, 0.25f, 0),
            y = model.tensor(kInt8, {1, 3}, 4.0f, 0);
  model.op(Builtin::SQUARED_DIFFERENCE, {a, b}, {y});
  auto graph = compiler::import_tflite(model.file({a, b}, {y}));
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  ASSERT_TRUE(compiler::to_powers_of_two(*graph).ok());
  const auto runnable = RunnableGraph::make(*graph);
  ASSERT_TRUE(runnable.ok()) << runnable.status().text();
  const auto outputs =
      (*runnable)->whole({bytes_of<std::int8_t>({10, -20, 5}), bytes_of<std::int8_t>({-4, 40, -14})});
  ASSERT_TRUE(outputs.ok()) << outputs.status().text();
  // Values 5 and -1: 36; -10 and 10: 400; 2.5 and -3.5: 36. All tensors get the powers that hold their
  // ranges, here those they have.
  EXPECT_EQ((*outputs)[0], bytes_of<std::int8_t>({9, 100, 9}));
}

// A fused ReLU6 that the operator with power-of-two scales does not have becomes a clip after it.
TEST(PowersOfTwo, QuotientsKeepTheirLimits) {
  TinyTflite model;
  const int a = model.tensor(kInt8, {1, 3}, 0.5f, 0), b = model.tensor(kInt8, {1, 3}, 0.25f, 0),
            y = model.tensor(kInt8, {1, 3}, 0.0625f, 0);
  model.op(Builtin::DIV, {a, b}, {y}, BuiltinOptions::Div,
           tflite::CreateArithmeticOptions(model.builder(), 3));
  auto graph = compiler::import_tflite(model.file({a, b}, {y}));
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  ASSERT_TRUE(compiler::to_powers_of_two(*graph).ok());
  const auto runnable = RunnableGraph::make(*graph);
  ASSERT_TRUE(runnable.ok()) << runnable.status().text();
  const auto outputs =
      (*runnable)->whole({bytes_of<std::int8_t>({10, -20, 40}), bytes_of<std::int8_t>({4, 4, 8})});
  ASSERT_TRUE(outputs.ok()) << outputs.status().text();
  // 5 / 1; -10 / 1, limited to 0; 20 / 2, limited to 6.
  EXPECT_EQ((*outputs)[0], bytes_of<std::int8_t>({80, 0, 96}));
}

TEST(PowersOfTwo, GraphsWithoutScalesStay) {
  TinyTflite model;
  const int x = model.tensor(kFloat, {1, 4}, 0, 0), y = model.tensor(kFloat, {1, 4}, 0, 0);
  model.op(Builtin::RELU, {x}, {y});
  const auto graph = compiler::import_tflite(model.file({x}, {y}));
  ASSERT_TRUE(graph.ok());
  Graph folded = *graph;
  ASSERT_TRUE(compiler::to_powers_of_two(folded).ok());
  EXPECT_EQ((*compiler::compare(*graph, folded, 4, 1))[0].largest, 0);
}

TEST(PowersOfTwo, PublicNetworksStayNear) {
  RUNNEL_NEEDS_DATA();
  for (const char* file : {"models/mlperf-tiny/str_ww_ref_model.tflite",
                           "models/tflm/micro_speech_quantized.tflite", "models/mww/okay_nabu.tflite"}) {
    const auto graph = compiler::import_tflite(read_file(data_folder() / file));
    ASSERT_TRUE(graph.ok()) << graph.status().text();
    Graph folded = *graph;
    ASSERT_TRUE(compiler::to_powers_of_two(folded).ok()) << file;
    const auto differences = compiler::compare(*graph, folded, 8, 1);
    ASSERT_TRUE(differences.ok()) << differences.status().text();
    EXPECT_LT((*differences)[0].rms, 0.05) << file;
  }
}

// State goes from call to call: the sequences of compare() show it. The bounds are some steps of the outputs'
// scales.
TEST(PowersOfTwo, RecurrentLayersStayNear) {
  RUNNEL_NEEDS_DATA();
  struct Case {
    const char* file;
    double rms;
  };
  for (const Case& c :
       {Case{"models/tflm/trained_lstm_int8.tflite", 0.1}, Case{"models/tflm/micro_speech_lstm.tflite", 0.1},
        Case{"models/tflm/keyword_scrambled_8bit.tflite", 0.1}}) {
    const auto graph = compiler::import_tflite(read_file(data_folder() / c.file));
    ASSERT_TRUE(graph.ok()) << graph.status().text();
    Graph folded = *graph;
    const Status status = compiler::to_powers_of_two(folded);
    ASSERT_TRUE(status.ok()) << c.file << ": " << status.text();
    int recurrent = 0;
    for (const compiler::Node& node : folded.nodes) {
      if (node.code == OpCode::svdf) {
        EXPECT_EQ(node.arithmetic, Arithmetic::shifts);
      }
      if (node.code == OpCode::lstm) {
        EXPECT_EQ(node.arithmetic, Arithmetic::stateful_shifts);
      }
      recurrent += node.code == OpCode::svdf || node.code == OpCode::lstm ? 1 : 0;
    }
    EXPECT_GT(recurrent, 0) << c.file;
    const auto differences = compiler::compare(*graph, folded, 16, 1);
    ASSERT_TRUE(differences.ok()) << differences.status().text();
    EXPECT_LT((*differences)[0].rms, c.rms) << c.file << " of " << (*differences)[0].signal_rms;
    EXPECT_GT((*differences)[0].signal_rms, 0) << c.file;
  }
}

}  // namespace
}  // namespace runnel::test
