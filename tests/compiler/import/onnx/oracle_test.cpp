// Networks of others and our own against recorded outputs, within the tolerance recorded with them: whole, as
// sequences whose explicit states go from step to step, and streamed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/import/load.h"
#include "compiler/import/onnx/importer.h"
#include "inference/host/check.h"
#include "tests/compiler/run_graph.h"
#include "tests/support/data.h"

namespace runnel {
namespace {

using Json = nlohmann::json;
using test::Bytes;

Json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  return Json::parse(in, nullptr, false);
}

std::size_t bytes_of(const Json& port) {
  std::size_t bytes = port["dtype"] == "int64" ? 8 : 4;
  for (const auto& dim : port["shape"]) bytes *= dim.get<std::size_t>();
  return bytes;
}

// The largest difference of float32 outputs.
double difference(const std::byte* a, const std::byte* b, std::size_t bytes) {
  double largest = 0;
  for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
    float x = 0, y = 0;
    std::memcpy(&x, a + i, 4);
    std::memcpy(&y, b + i, 4);
    const double d = std::fabs(static_cast<double>(x) - static_cast<double>(y));
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

class Oracle {
 public:
  Oracle(std::filesystem::path model, const Json& detail)
      : bytes_(test::read_file(model)), detail_(detail), place_(model.filename().string()) {}

  void run(const Json& one, double relative) {
    const std::string place = place_ + " case " + std::to_string(one["id"].get<int>());
    compiler::OnnxOptions options;
    for (const auto& port : one["inputs"]) {
      const std::string name = port["name"];
      options.shapes[name] = port["shape"].get<std::vector<std::int64_t>>();
      if (port.contains("value")) options.values[name] = {port["value"].get<std::int64_t>()};
    }
    const auto imported = compiler::import_onnx(bytes_, options);
    ASSERT_TRUE(imported.ok()) << place << ": " << imported.status().text();
    const compiler::Graph& graph = imported->graph;
    const auto runnable = test::RunnableGraph::make(graph);
    ASSERT_TRUE(runnable.ok()) << place << ": " << runnable.status().text();

    std::map<std::string, Bytes> files, state;
    for (const auto& port : one["inputs"]) {
      if (port.contains("file"))
        files[port["name"]] =
            test::read_file(test::data_folder() / "oracles" / port["file"].get<std::string>());
      else
        state[port["name"]] = Bytes(bytes_of(port));
    }
    const auto steps = one.value("steps", 1);
    std::map<std::string, std::vector<Bytes>> produced;
    for (int step = 0; step < steps; ++step) {
      std::vector<Bytes> inputs;
      for (const compiler::TensorId id : graph.inputs) {
        const std::string& name = graph.tensors[static_cast<std::size_t>(id)].name;
        if (!files.contains(name)) {
          inputs.push_back(state[name]);
          continue;
        }
        const Bytes& all = files[name];
        std::size_t size = 0;
        bool per_step = false;
        for (const auto& port : one["inputs"]) {
          if (port["name"] == name) size = bytes_of(port), per_step = port.value("per_step", false);
        }
        const std::size_t at = per_step ? static_cast<std::size_t>(step) * size : 0;
        ASSERT_LE(at + size, all.size()) << place << ": " << name;
        inputs.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                            all.begin() + static_cast<std::ptrdiff_t>(at + size));
      }
      const auto outputs = (*runnable)->whole(inputs);
      ASSERT_TRUE(outputs.ok()) << place << ": " << outputs.status().text();
      for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
        produced[graph.tensors[static_cast<std::size_t>(graph.outputs[i])].name].push_back((*outputs)[i]);
      }
      for (const auto& pair : detail_.value("state_pairs", Json::array()))
        state[pair["input"]] = produced[pair["output"]].back();
    }
    for (const auto& port : one["outputs"]) compare(port, produced[port["name"]], relative, place);
  }

 private:
  static void compare(const Json& port, const std::vector<Bytes>& produced, double relative,
                      const std::string& place) {
    const Bytes expected = test::read_file(test::data_folder() / "oracles" / port["file"].get<std::string>());
    std::vector<std::size_t> saved;
    const Json& which = port.value("saved_steps", Json("all"));
    for (std::size_t step = 0; step < produced.size(); ++step) {
      if (!which.is_array() || std::find(which.begin(), which.end(), step) != which.end())
        saved.push_back(step);
    }
    ASSERT_FALSE(saved.empty()) << place;
    const std::size_t size = bytes_of(port);
    ASSERT_EQ(expected.size(), saved.size() * size) << place << ": " << port["name"];
    for (std::size_t i = 0; i < saved.size(); ++i) {
      const Bytes& found = produced[saved[i]];
      ASSERT_EQ(found.size(), size) << place << ": " << port["name"];
      EXPECT_LE(difference(found.data(), expected.data() + i * size, size),
                relative * port["max_abs"].get<double>() + 1e-6)
          << place << ": output " << port["name"] << ", step " << saved[i];
    }
  }

  Bytes bytes_;
  const Json& detail_;
  std::string place_;
};

void run_models(const std::string& folder, std::size_t least) {
  const Json manifest = read_json(test::data_folder() / "oracles/MANIFEST.json");
  std::size_t models = 0;
  for (const auto& entry : manifest["models"]) {
    const std::string model = entry["model"];
    if (!model.starts_with(folder) || !model.ends_with(".onnx") || entry["kind"] != "float32") continue;
    const Json detail = read_json(test::data_folder() / "oracles" / entry["detail"].get<std::string>());
    ++models;
    for (const auto& one : detail["cases"])
      Oracle(test::data_folder() / model, detail).run(one, entry["tolerance"]["relative_to_max_abs"]);
  }
  EXPECT_GE(models, least);
}

TEST(OnnxOracle, Trained) {
  RUNNEL_NEEDS_DATA();
  run_models("trained/", 18);
}
TEST(OnnxOracle, Peers) {
  RUNNEL_NEEDS_DATA();
  run_models("peers/", 7);
}
TEST(OnnxOracle, SileroVad) {
  RUNNEL_NEEDS_DATA();
  run_models("models/silero-vad/", 5);
}
TEST(OnnxOracle, Dtln) {
  RUNNEL_NEEDS_DATA();
  run_models("models/dtln/", 2);
}
TEST(OnnxOracle, Gtcrn) {
  RUNNEL_NEEDS_DATA();
  run_models("models/gtcrn/", 2);
}
TEST(OnnxOracle, OpenWakeWord) {
  RUNNEL_NEEDS_DATA();
  run_models("models/openwakeword/", 2);
}
TEST(OnnxOracle, Synthetic) {
  RUNNEL_NEEDS_DATA();
  run_models("models/synthetic/", 4);
}

class OnnxStreaming : public testing::TestWithParam<const char*> {};

TEST_P(OnnxStreaming, EqualsWholeBitForBit) {
  RUNNEL_NEEDS_DATA();
  const auto loaded = compiler::load_model(test::data_folder() / GetParam());
  ASSERT_TRUE(loaded.ok()) << loaded.status().text();
  ASSERT_NE(loaded->model->model().plan(), nullptr) << (loaded->notes.empty() ? "" : loaded->notes.back());
  const auto report = check_streaming(loaded->model, 150);
  ASSERT_TRUE(report.ok()) << report.status().text();
  EXPECT_GT(report->output_frames, 0);
  EXPECT_TRUE(report->differences.empty())
      << report->differences.front().run << ", frame " << report->differences.front().frame;
}
INSTANTIATE_TEST_SUITE_P(Networks, OnnxStreaming,
                         testing::Values("trained/M1.onnx", "trained/M1_bn.onnx", "trained/M1_padnodes.onnx",
                                         "trained/M1s.onnx", "trained/M3.onnx", "trained/M3_T98.onnx",
                                         "trained/har/H1.onnx", "trained/har/H1_padnodes.onnx",
                                         "digits/digits.onnx", "digits/digits_T98.onnx"));

}  // namespace
}  // namespace runnel
