// Real ExecuTorch programs: the keyword model against recorded results, float ones against an evaluation in
// double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "compiler/import/pte/importer.h"
#include "inference/delegate.h"
#include "tests/compiler/import/pte/float64.h"
#include "tests/compiler/json_files.h"
#include "tests/compiler/run_graph.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using nlohmann::json;

compiler::Graph import(const std::string& name) {
  auto imported = compiler::import_pte(read_file(data_folder() / "executorch" / name));
  EXPECT_TRUE(imported.ok()) << name << ": " << imported.status().text();
  return imported.ok() ? std::move(imported->graph) : compiler::Graph();
}

std::unique_ptr<RunnableGraph> load(const compiler::Graph& graph) {
  auto runnable = RunnableGraph::make(graph);
  EXPECT_TRUE(runnable.ok()) << runnable.status().text();
  return runnable.ok() ? std::move(runnable).value() : nullptr;
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}
template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// The output and what the tensors with these words in their names hold.
compiler::TensorId find_tensor(const compiler::Graph& graph, OpCode code) {
  for (const compiler::Node& node : graph.nodes) {
    if (node.code == code) return node.outputs[0];
  }
  return compiler::kAbsent;
}

TEST(PteModels, KeywordsGiveTheRecordedLogits) {
  RUNNEL_NEEDS_DATA();
  const auto folder = data_folder() / "executorch" / "kws";
  const json golden = read_json(folder / "golden.json"), inputs = read_json(folder / "mfcc_inputs.json");
  compiler::Graph graph = import("et_arduino_kws.pte");
  ASSERT_FALSE(graph.nodes.empty());
  graph.outputs.push_back(find_tensor(graph, OpCode::fully_connected));
  graph.outputs.push_back(find_tensor(graph, OpCode::quantize));
  const auto model = load(graph);
  ASSERT_NE(model, nullptr);
  const std::vector<std::string> classes{"silence", "unknown", "yes", "no",  "up",   "down",
                                         "left",    "right",   "on",  "off", "stop", "go"};
  int right = 0;
  for (const auto& [word, recorded] : golden.items()) {
    auto outputs = model->whole({bytes_of(inputs.at(word).get<std::vector<float>>())});
    ASSERT_TRUE(outputs.ok()) << outputs.status().text();
    EXPECT_EQ(values_of<std::int8_t>((*outputs)[2]), recorded.at("input_q").get<std::vector<std::int8_t>>())
        << word;
    EXPECT_EQ(values_of<std::int8_t>((*outputs)[1]), recorded.at("logits_q").get<std::vector<std::int8_t>>())
        << word;
    const auto logits = values_of<float>((*outputs)[0]);
    right +=
        classes[static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin())] ==
                word
            ? 1
            : 0;
  }
  EXPECT_EQ(golden.size(), 10u);
  EXPECT_EQ(right, 10);
}

class FloatPte : public testing::TestWithParam<const char*> {};

TEST_P(FloatPte, AgreesWithDoublePrecision) {
  RUNNEL_NEEDS_DATA();
  const std::string name = GetParam();
  const auto file = data_folder() / "executorch" / (name + ".pte"),
             decoded = data_folder() / "executorch" / "json" / (name + ".json");
  const auto model = load(import(name + ".pte"));
  ASSERT_NE(model, nullptr);
  std::mt19937 random(7);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::vector<float>> inputs;
    std::vector<Bytes> fed;
    for (const std::size_t count : input_sizes(decoded)) {
      std::vector<float> values(count);
      for (float& value : values) value = std::uniform_real_distribution<float>(-2, 2)(random);
      fed.push_back(bytes_of(values));
      inputs.push_back(std::move(values));
    }
    const auto expected = evaluate_float64(file, decoded, inputs);
    auto outputs = model->whole(fed);
    ASSERT_TRUE(outputs.ok()) << outputs.status().text();
    ASSERT_EQ(outputs->size(), expected.size());
    for (std::size_t o = 0; o < expected.size(); ++o) {
      const auto found = values_of<float>((*outputs)[o]);
      ASSERT_EQ(found.size(), expected[o].data.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(found[i]), expected[o].data[i],
                    1e-5 * std::max(1.0, std::abs(expected[o].data[i])))
            << "output " << o << ", element " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, FloatPte,
                         testing::Values("et_apple_add", "et_arduino_hello",
                                         "et_test_ModuleLinear_no_constant_segment", "mbedtfo_cnn",
                                         "mbedtfo_cnn3", "mbedtfo_cnn_trained", "mbedtfo_fcn",
                                         "mbedtfo_fcn_temp_min-max-100", "mbedtfo_lstm", "mbedtfo_softmax"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PteModels, TestCasesOfABundleBecomeVectors) {
  RUNNEL_NEEDS_DATA();
  const compiler::Graph graph = import("et_bundled_program.bpte");
  ASSERT_EQ(graph.vectors.size(), 10u);
  const auto model = load(graph);
  ASSERT_NE(model, nullptr);
  for (const compiler::VectorCase& test : graph.vectors) {
    std::vector<Bytes> inputs;
    for (const auto& input : test.inputs) inputs.push_back(input.data);
    auto outputs = model->whole(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().text();
    EXPECT_EQ((*outputs)[0], test.outputs[0].data);
  }
}

TEST(PteModels, NpuSegmentsKeepWhatTheBackEndNeeds) {
  RUNNEL_NEEDS_DATA();
  struct Expected {
    const char* name;
    std::size_t commands, weights;
    std::int64_t scratch;
    std::vector<std::int64_t> inputs, outputs;
  };
  const Expected all[] = {{"armex_ethosu_minimal_0ff7865c.pte", 908, 32, 144, {64, 16}, {0}},
                          {"armex_ethosu_minimal_278c8132.pte", 512, 1, 48, {16, 32}, {16}},
                          {"armex_ethosu_minimal_e647b35d.pte", 512, 1, 48, {16, 32}, {16}}};
  for (const Expected& expected : all) {
    const auto model = load(import(expected.name));
    ASSERT_NE(model, nullptr);
    const DelegateSegment segment(model->model(), model->model().op(2));
    EXPECT_EQ(segment.kind(), "ethos-u");
    EXPECT_EQ(segment.part("command_stream").size(), expected.commands) << expected.name;
    EXPECT_EQ(segment.part("weights").size(), expected.weights) << expected.name;
    const auto numbers = [&](std::string_view name) {
      const auto found = segment.attributes().integers(name);
      return std::vector<std::int64_t>(found.begin(), found.end());
    };
    EXPECT_EQ(numbers("scratch_bytes"), std::vector{expected.scratch});
    EXPECT_EQ(numbers("input_offsets"), expected.inputs);
    EXPECT_EQ(numbers("output_offsets"), expected.outputs);
    EXPECT_TRUE(segment.attributes().text("target").starts_with("ethos-u"));
    EXPECT_EQ(segment.inputs().size(), 2u);
    const auto refused = model->whole({Bytes(4), Bytes(4)});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.status().text().find(
                  "belongs to the delegate \"ethos-u\", for which this program has no back end"),
              std::string::npos)
        << refused.status().text();
  }
}

}  // namespace
}  // namespace runnel::test
