// Networks of others in integers: int8, and with as many operators as int16 or float as it takes for a
// smaller error. Prints the second table of docs/quantization.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/import/onnx/importer.h"
#include "compiler/import/usage.h"
#include "compiler/quantize/calibrate/sequence_clips.h"
#include "compiler/quantize/choose/evaluate.h"
#include "compiler/quantize/quantize.h"
#include "tests/compiler/quantize/small_graph.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using Json = nlohmann::json;

struct Network {
  std::string name, folder;
  // QuantizationNoise to signal on steps that no calibration has seen, in int8 and with some nodes in int16.
  // No goals: a fifth above what was measured.
  double eight = 1, mixed = 1;
  double most = 1e-3;  // error that is asked for; at least half of that in int8
};
void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

const Network kNetworks[] = {
    {"Silero VAD", "models__silero-vad__silero_vad_16k_op15", 0.0045, 0.0007},
    {"DTLN 1", "models__dtln__model_1", 0.028, 0.00014},
    {"DTLN 2", "models__dtln__model_2", 0.035, 0.00036},
    {"GTCRN", "models__gtcrn__gtcrn_simple", 0.47, 0.152, 0.015},
    {"openWakeWord embedding", "models__openwakeword__embedding_model", 0.0061, 0.0024}};

std::size_t elements_of(const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
  return count;
}

class PublicNetworks : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    RUNNEL_NEEDS_DATA();
    detail_ =
        Json::parse(std::ifstream(oracles() / "onnx" / GetParam().folder / "model.json"), nullptr, false);
    compiler::OnnxOptions onnx;
    for (const Json& port : detail_["cases"][0]["inputs"]) {
      onnx.shapes[port["name"]] = port["shape"].get<std::vector<std::int64_t>>();
      if (port.contains("value")) onnx.values[port["name"]] = {port["value"].get<std::int64_t>()};
    }
    // Windows side by side are clips of their own.
    for (auto& shape : onnx.shapes) {
      if (detail_["state_pairs"].empty()) shape.second[0] = 1;
    }
    auto imported =
        compiler::import_onnx(read_file(data_folder() / detail_["model"].get<std::string>()), onnx);
    ASSERT_TRUE(imported.ok()) << imported.status().text();
    graph_ = std::move(imported->graph);
    compiler::UsageOptions usage;
    for (const Json& pair : detail_["state_pairs"]) usage.states.emplace_back(pair["output"], pair["input"]);
    ASSERT_TRUE(compiler::apply_usage(usage, graph_).ok());
  }
  static std::filesystem::path oracles() { return data_folder() / "oracles"; }
  // Two recordings. The first two thirds of each calibrate, the rest is for evaluation.
  static std::size_t calibrating(std::size_t count) { return 2 * count / 3; }
  std::vector<Clip> steps_of(int id) const {
    std::vector<Clip> steps;
    for (const Json& port : detail_["cases"][static_cast<std::size_t>(id)]["inputs"]) {
      if (!port.contains("file")) continue;
      const std::vector<std::byte> bytes = read_file(oracles() / port["file"].get<std::string>());
      const bool windows = detail_["state_pairs"].empty();
      const auto shape = port["shape"].get<std::vector<std::int64_t>>();
      const std::size_t size = elements_of(shape) / (windows ? static_cast<std::size_t>(shape[0]) : 1),
                        count = bytes.size() / sizeof(float) / size;
      steps.resize(count);
      for (std::size_t i = 0; i < count; ++i) {
        steps[i].emplace_back(size);
        std::memcpy(steps[i].back().data(), bytes.data() + i * size * sizeof(float), size * sizeof(float));
      }
    }
    return steps;
  }
  // Steps of both recordings, with the states that this form of the network leaves. `kept`: which of them are
  // for evaluation.
  std::unique_ptr<Clips> clips(const compiler::Graph& form, bool all, std::vector<std::size_t>& kept) const {
    std::vector<Clip> steps;
    std::vector<bool> begins;
    for (const int id : {0, 1}) {
      const std::vector<Clip> one = steps_of(id);
      const std::size_t calibrate = calibrating(one.size());
      for (std::size_t i = 0; i < (all ? one.size() : calibrate); ++i) {
        if (i >= calibrate) kept.push_back(steps.size());
        begins.push_back(i == 0);
        steps.push_back(one[i]);
      }
    }
    auto made = sequence_clips(form, std::make_unique<MemoryClips>(std::move(steps)), begins);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return std::move(*made);
  }
  // The first output at the steps for evaluation, one after the other.
  std::vector<float> answers(const compiler::Graph& form) const {
    std::vector<std::size_t> kept;
    const auto data = clips(form, true, kept);
    const compiler::Graph* const forms[] = {&form};
    const auto runner = ClipRunner::make(forms, 1);
    EXPECT_TRUE(runner.ok()) << runner.status().text();
    std::map<std::size_t, std::vector<float>> found;
    EXPECT_TRUE(runner
                    ->run(*data, kept,
                          [&](std::size_t clip, std::size_t, const ClipRunner::Outputs& outputs) {
                            found[clip].assign(outputs[0][0].begin(), outputs[0][0].end());
                          })
                    .ok());
    std::vector<float> values;
    for (const auto& entry : found) values.insert(values.end(), entry.second.begin(), entry.second.end());
    return values;
  }

  Json detail_;
  compiler::Graph graph_;
};

// Kinds of the operators that stay float, with how many there are.
std::string real_kinds(const Quantized& quantized) {
  std::map<std::string, int> kinds;
  for (std::size_t n = 0; n < quantized.plan.types.size(); ++n) {
    const compiler::Node& node = quantized.real.nodes[n];
    const bool computes =
        !node.outputs.empty() &&
        quantized.real.tensors[static_cast<std::size_t>(node.outputs[0])].dtype == DType::float32;
    if (quantized.plan.types[n] == DType::float32 && computes && quantized.plan.roles[n] != Role::passive)
      ++kinds[name_of(node.code)];
  }
  std::string text;
  for (const auto& kind : kinds)
    text += (text.empty() ? "" : ", ") + kind.first + " " + std::to_string(kind.second);
  return text.empty() ? "none" : text;
}

TEST_P(PublicNetworks, InIntegersStepByStep) {
  const Network& network = GetParam();
  std::vector<std::size_t> none;
  const auto calibration = clips(graph_, false, none);
  Options options = options_for("generic", 2);
  options.methods = Methods{};
  options.methods->search = false;  // minutes for the large ones
  const auto eight = quantize(graph_, *calibration, options);
  ASSERT_TRUE(eight.ok()) << eight.status().text();
  options.max_error = std::min(eight->error / 2, network.most);
  const auto mixed = quantize(graph_, *calibration, options);
  ASSERT_TRUE(mixed.ok()) << mixed.status().text();
  EXPECT_LE(mixed->error, options.max_error);
  const std::vector<float> expected = answers(graph_);
  const double of_eight = quantization_noise(expected, answers(eight->graph)).ratio(),
               of_mixed = quantization_noise(expected, answers(mixed->graph)).ratio();
  EXPECT_LT(of_eight, network.eight);
  EXPECT_LT(of_mixed, network.mixed);
  // What became float is what was asked for, by name.
  for (const std::string& note : mixed->notes) std::printf("%s: %s\n", network.name.c_str(), note.c_str());
  const auto wide = std::count(mixed->plan.types.begin(), mixed->plan.types.end(), DType::int16),
             narrow = std::count(mixed->plan.types.begin(), mixed->plan.types.end(), DType::int8);
  std::printf("! %s | %.3g | %.3g | %.3g | %.3g | %td | %td | %s |\n", network.name.c_str(), eight->error,
              of_eight, mixed->error, of_mixed, narrow, wide, real_kinds(*mixed).c_str());
  std::fflush(stdout);
  // What stays float is named to the user, node by node.
  EXPECT_EQ(real_operators(*mixed).empty(), real_kinds(*mixed) == "none");
}

INSTANTIATE_TEST_SUITE_P(Networks, PublicNetworks, testing::ValuesIn(kNetworks), [](const auto& test) {
  std::string name = test.param.name;
  std::erase_if(name, [](char c) { return c == ' '; });
  return name;
});

}  // namespace
}  // namespace runnel::test
