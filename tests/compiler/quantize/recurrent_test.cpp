// Matrices of recurrent operators, rounded for their results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <random>

#include "compiler/espdl/espdl_generated.h"
#include "compiler/quantize/calibrate/calibration_table.h"
#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/quantize.h"
#include "compiler/write/espdl/writer.h"
#include "tests/compiler/quantize/small_graph.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using compiler::Graph;
using compiler::TensorId;

constexpr std::int32_t kFrames = 20, kInputs = 6, kHidden = 5;

class GraphOfOne {
 public:
  TensorId tensor(const char* name, std::vector<std::int32_t> shape) {
    compiler::Tensor made;
    made.name = name;
    made.shape = std::move(shape);
    made.dtype = DType::float32;
    graph.tensors.push_back(std::move(made));
    return static_cast<TensorId>(graph.tensors.size()) - 1;
  }
  TensorId constant(const char* name, std::vector<std::int32_t> shape) {
    const TensorId id = tensor(name, std::move(shape));
    const std::vector<float> values = normal(id, 0.5f);
    const auto bytes = std::as_bytes(std::span(values));
    graph.tensors.back().data.emplace(bytes.begin(), bytes.end());
    return id;
  }
  std::vector<float> normal(TensorId like, float spread) {
    std::size_t count = 1;
    for (const std::int32_t dim : graph.tensors[static_cast<std::size_t>(like)].shape)
      count *= static_cast<std::size_t>(dim);
    std::normal_distribution<float> numbers(0, spread);
    std::vector<float> values(count);
    float before = 0;  // neighbours are alike, as in sound
    for (float& value : values) value = before = 0.7f * before + numbers(random_);
    return values;
  }
  std::vector<Clip> clips(int count) {
    std::vector<Clip> all;
    for (int i = 0; i < count; ++i) all.push_back({normal(graph.inputs[0], 1)});
    return all;
  }
  void finish(const char* name, OpCode code, std::vector<TensorId> inputs, TensorId output,
              compiler::Options options) {
    compiler::Node node;
    node.name = name;
    node.code = code;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.options = std::move(options);
    graph.inputs = {node.inputs[0]};
    graph.outputs = {output};
    graph.nodes = {std::move(node)};
  }
  Graph graph;

 private:
  std::mt19937 random_{5};
};

GraphOfOne recurrent(bool lstm) {
  GraphOfOne made;
  const std::int32_t gates = lstm ? 4 : 3;
  const TensorId x = made.tensor("x", {kFrames, 1, kInputs}),
                 w = made.constant("w", {1, gates * kHidden, kInputs}),
                 r = made.constant("r", {1, gates * kHidden, kHidden});
  const TensorId b = made.constant("b", {1, 2 * gates * kHidden}),
                 y = made.tensor("y", {kFrames, 1, 1, kHidden});
  made.finish("cell", lstm ? OpCode::lstm : OpCode::gru, {x, w, r, b}, y, compiler::RecurrentOptions{});
  return made;
}

Options with(bool rounds) {
  Options options = options_for("esp32");
  options.methods = Methods{};
  options.methods->equalize = options.methods->search = options.methods->correct_bias = false;
  options.methods->round = rounds;
  options.methods->hold = 0.02;
  return options;
}

TEST(QuantizeRecurrent, RoundingForResultsBeatsRoundingToTheNearest) {
  for (GraphOfOne one : {recurrent(false), recurrent(true)}) {
    const MemoryClips data(one.clips(32)), others(one.clips(32));
    double errors[2] = {};
    for (const bool rounds : {false, true}) {
      const auto quantized = quantize(one.graph, data, with(rounds));
      ASSERT_TRUE(quantized.ok()) << quantized.status().text();
      EXPECT_EQ(quantized->plan.matrices.size(), rounds ? 2u : 0u);
      errors[rounds ? 1 : 0] =
          (*compare_forms(quantized->real, quantized->graph, others, all_of(32), 1))[0].ratio();
    }
    EXPECT_LT(errors[1], errors[0]) << name_of(one.graph.nodes[0].code);
  }
}

// The rules of the format for GRU and LSTM: biases of 16 bits at the exponent of the gates, which an
// attribute says; one exponent for each matrix.
TEST(QuantizeRecurrent, WrittenFilesSayTheExponentOfTheGates) {
  for (const bool lstm : {false, true}) {
    GraphOfOne made = recurrent(lstm);
    const MemoryClips data(made.clips(12));
    const auto quantized = quantize(made.graph, data, with(true));
    ASSERT_TRUE(quantized.ok()) << quantized.status().text();
    const auto written = compiler::write_espdl(quantized->graph, {.target = compiler::EspdlTarget::c});
    ASSERT_TRUE(written.ok()) << written.status().text();
    ASSERT_TRUE(written->refusals.empty()) << written->refusals[0];
    ASSERT_GT(written->bytes.size(), 16u);
    std::vector<std::max_align_t> aligned((written->bytes.size() + sizeof(std::max_align_t) - 1) /
                                          sizeof(std::max_align_t));
    std::copy(written->bytes.begin() + 16, written->bytes.end(),
              reinterpret_cast<std::byte*>(aligned.data()));
    const espdl::Graph& graph = *flatbuffers::GetRoot<espdl::Model>(aligned.data())->graph();
    const espdl::Node* cell = nullptr;
    for (const espdl::Node* node : *graph.node()) {
      if (node->op_type()->str() == (lstm ? "LSTM" : "GRU")) cell = node;
    }
    ASSERT_NE(cell, nullptr);
    std::map<std::string, std::int64_t> numbers;
    std::map<std::string, std::string> texts;
    for (const espdl::Attribute* attribute : *cell->attribute()) {
      if (attribute->i() != nullptr) numbers[attribute->name()->str()] = attribute->i()->i();
      if (attribute->s() != nullptr)
        texts[attribute->name()->str()] = std::string(attribute->s()->begin(), attribute->s()->end());
    }
    EXPECT_EQ(texts["quant_type"], "S8");
    EXPECT_EQ(texts["direction"], "forward");
    EXPECT_EQ(numbers["hidden_size"], kHidden);
    EXPECT_EQ(numbers["linear_before_reset"], lstm ? 0 : 1);
    const auto constant = [&](unsigned input) {
      for (const espdl::Tensor* tensor : *graph.initializer()) {
        if (tensor->name()->str() == cell->input()->Get(input)->str()) return tensor;
      }
      return static_cast<const espdl::Tensor*>(nullptr);
    };
    for (const unsigned matrix : {1u, 2u}) {
      ASSERT_NE(constant(matrix), nullptr);
      EXPECT_EQ(constant(matrix)->data_type(), espdl::TensorDataType::INT8);
      EXPECT_EQ(constant(matrix)->exponents()->size(), 1u);
    }
    ASSERT_NE(constant(3), nullptr);
    EXPECT_EQ(constant(3)->data_type(), espdl::TensorDataType::INT16);
    ASSERT_EQ(constant(3)->exponents()->size(), 1u);
    EXPECT_EQ(constant(3)->exponents()->Get(0), numbers.at("gate_exponent"));
  }
}

TEST(QuantizeRecurrent, TablesKeepTheMatrices) {
  GraphOfOne one = recurrent(false);
  const MemoryClips data(one.clips(16));
  const Options options = with(true);
  const auto quantized = quantize(one.graph, data, options);
  ASSERT_TRUE(quantized.ok()) << quantized.status().text();
  const auto text = table_text(one.graph, *quantized, options, "", 16);
  ASSERT_TRUE(text.ok()) << text.status().text();
  const auto table = CalibrationTable::from_text(*text);
  ASSERT_TRUE(table.ok()) << table.status().text();
  const auto again = table->quantize(one.graph);
  ASSERT_TRUE(again.ok()) << again.status().text();
  ASSERT_EQ(again->graph.tensors.size(), quantized->graph.tensors.size());
  for (std::size_t i = 0; i < again->graph.tensors.size(); ++i) {
    EXPECT_EQ(again->graph.tensors[i].data, quantized->graph.tensors[i].data) << i;
    EXPECT_EQ(again->graph.tensors[i].exponents, quantized->graph.tensors[i].exponents) << i;
  }
  std::string broken = *text;
  broken.replace(broken.find("{\"1\":"), 5, "{\"3\":");
  EXPECT_NE(
      std::string(CalibrationTable::from_text(broken).status().text()).find("expected the matrices 1 and 2"),
      std::string::npos);
}

}  // namespace
}  // namespace runnel::test
