// Public .tflite networks against recorded outputs of the reference kernels: quantized ones byte for byte, as
// sequences where they have state.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "compiler/import/tflite/importer.h"
#include "tests/compiler/json_files.h"
#include "tests/compiler/run_graph.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using nlohmann::json;

// Chains of audio front ends: their Signal operators are not imported.
bool is_front_end(const std::string& model) { return model.find("audio_preprocessor") != std::string::npos; }

std::unique_ptr<RunnableGraph> load(const std::filesystem::path& path) {
  auto graph = compiler::import_tflite(read_file(path));
  EXPECT_TRUE(graph.ok()) << path << ": " << (graph.ok() ? "" : graph.status().text());
  if (!graph.ok()) return nullptr;
  auto runnable = RunnableGraph::make(*graph);
  EXPECT_TRUE(runnable.ok()) << path << ": " << (runnable.ok() ? "" : runnable.status().text());
  return runnable.ok() ? std::move(runnable).value() : nullptr;
}

void expect_close(const Bytes& found, const Bytes& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double worst = 0, largest = 0;
  for (std::size_t at = 0; at + sizeof(float) <= found.size(); at += sizeof(float)) {
    float a = 0, b = 0;
    std::memcpy(&a, found.data() + at, sizeof a);
    std::memcpy(&b, expected.data() + at, sizeof b);
    const double difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
    ASSERT_TRUE(std::isfinite(difference)) << what;
    worst = std::max(worst, difference);
    largest = std::max(largest, std::abs(static_cast<double>(b)));
  }
  EXPECT_LE(worst, tolerance * largest + 1e-6) << what;
}

void expect_same(const Bytes& found, const Bytes& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < found.size(); ++i) differ += found[i] != expected[i] ? 1 : 0;
  EXPECT_EQ(differ, 0u) << what << ": bytes that differ, of " << found.size();
}

// All steps of one recorded case; a state output is given back to its paired input.
void check_case(const RunnableGraph& graph, const json& detail, const json& recorded,
                const std::filesystem::path& folder, const json& tolerance) {
  const std::size_t steps = recorded["steps"];
  const std::size_t inputs = graph.model().inputs().size(), outputs = graph.model().outputs().size();
  std::vector<Bytes> values(inputs);
  std::vector<bool> per_step(inputs, false);
  for (const json& input : recorded["inputs"]) {
    const std::size_t index = input["index"];
    ASSERT_LT(index, inputs);
    if (!input.contains("file")) continue;
    values[index] = read_file(folder / input["file"].get<std::string>());
    per_step[index] = input["per_step"];
  }
  std::vector<std::vector<Bytes>> calls;
  std::vector<std::vector<Bytes>> results;
  const bool explicit_state = !detail["state_pairs"].empty();
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<Bytes> call;
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::size_t bytes = graph.model().tensor(graph.model().inputs()[i]).bytes();
      Bytes value(bytes);
      const std::size_t from = per_step[i] ? step * bytes : 0;
      if (from + bytes <= values[i].size())
        std::copy_n(values[i].begin() + static_cast<std::ptrdiff_t>(from), bytes, value.begin());
      else
        ASSERT_TRUE(values[i].empty()) << "input " << i << " is too short";
      if (explicit_state && step > 0) {
        for (const json& pair : detail["state_pairs"]) {
          if (pair.at("input_index") == i) value = results.back()[pair.at("output_index").get<std::size_t>()];
        }
      }
      call.push_back(std::move(value));
    }
    if (explicit_state) {
      const auto result = graph.whole(call);
      ASSERT_TRUE(result.ok()) << result.status().text();
      results.push_back(*result);
    } else {
      calls.push_back(std::move(call));
    }
  }
  if (!explicit_state) {
    const auto result = graph.stepped(calls);
    ASSERT_TRUE(result.ok()) << result.status().text();
    results = *result;
  }
  for (const json& output : recorded["outputs"]) {
    const std::size_t index = output["index"];
    ASSERT_LT(index, outputs);
    Bytes found;
    for (std::size_t step = 0; step < steps; ++step) {
      const bool saved = !output["saved_steps"].is_array() ||
                         std::ranges::find(output["saved_steps"], json(step)) != output["saved_steps"].end();
      if (saved) found.insert(found.end(), results[step][index].begin(), results[step][index].end());
    }
    const Bytes expected = read_file(folder / output["file"].get<std::string>());
    const std::string what = detail["model"].get<std::string>() + " case " +
                             std::to_string(recorded["id"].get<int>()) + " output " + std::to_string(index);
    if (tolerance.contains("exact"))
      expect_same(found, expected, what);
    else
      expect_close(found, expected, tolerance["relative_to_max_abs"], what);
  }
}

TEST(TfliteModels, RecordedOutputsOfTheReferenceKernels) {
  RUNNEL_NEEDS_DATA();
  const std::filesystem::path folder = data_folder() / "oracles";
  int cases = 0;
  const json manifest = read_json(folder / "MANIFEST.json");
  for (const json& entry : manifest["models"]) {
    const std::string model = entry["model"];
    if (!model.ends_with(".tflite") || is_front_end(model)) continue;
    SCOPED_TRACE(model);
    const auto graph = load(data_folder() / model);
    if (graph == nullptr) continue;
    const json detail = read_json(folder / entry["detail"].get<std::string>());
    for (const json& recorded : detail["cases"]) {
      check_case(*graph, detail, recorded, folder, entry["tolerance"]);
      ++cases;
    }
  }
  EXPECT_GE(cases, 40);
}

TEST(TfliteModels, NetworksOfTheNpuByteForByteOnTheCpu) {
  RUNNEL_NEEDS_DATA();
  const std::filesystem::path folder = data_folder() / "ethosu";
  int networks = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder / "io")) {
    if (file.path().extension() != ".json") continue;
    const std::string name = file.path().stem().string();
    SCOPED_TRACE(name);
    const auto graph = load(folder / "models" / (name + ".tflite"));
    if (graph == nullptr) continue;
    for (int run = 0; run < 2; ++run) {
      std::vector<Bytes> inputs;
      for (std::size_t i = 0; i < graph->model().inputs().size(); ++i) {
        inputs.push_back(read_file(folder / "io" /
                                   (name + ".in" + std::to_string(i) + "." + std::to_string(run) + ".bin")));
      }
      const auto outputs = graph->whole(inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.status().text();
      expect_same((*outputs)[0], read_file(folder / "io" / (name + ".out0." + std::to_string(run) + ".bin")),
                  name + " run " + std::to_string(run));
    }
    ++networks;
  }
  EXPECT_GE(networks, 7);
}

TEST(TfliteModels, EveryNetworkImportsAndWhatIsForAnNpuNeedsItsDelegate) {
  RUNNEL_NEEDS_DATA();
  int imported = 0;
  for (const char* folder :
       {"ethosu/models", "models/mww", "models/mlperf-tiny", "models/tflm", "models/dtln"}) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(data_folder() / folder)) {
      const std::string path = file.path().string();
      if (file.path().extension() != ".tflite" || is_front_end(path)) continue;
      SCOPED_TRACE(path);
      if (path.find("_vela") == std::string::npos) {
        imported += load(file.path()) != nullptr ? 1 : 0;
        continue;
      }
      const auto graph = compiler::import_tflite(read_file(file.path()));
      ASSERT_TRUE(graph.ok()) << graph.status().text();
      const auto runnable = RunnableGraph::make(*graph);
      ASSERT_TRUE(runnable.ok()) << runnable.status().text();
      EXPECT_NE((*runnable)->whole({}).status().text().find("delegate \"ethos-u\""), std::string::npos)
          << (*runnable)->whole({}).status().text();
    }
  }
  EXPECT_GE(imported, 25);
}

}  // namespace
}  // namespace runnel::test
