// How close quantized networks come to their float form, beside what another quantizer reaches with its
// default settings. Prints the table of docs/quantization.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/import/onnx/importer.h"
#include "compiler/quantize/choose/evaluate.h"
#include "compiler/quantize/quantize.h"
#include "tests/compiler/quantize/small_graph.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using Json = nlohmann::json;

struct Network {
  std::string name, file, calibration, evaluation, labels, input;
  std::vector<std::int64_t> shape;
};
// Names of tests, not bytes.
void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

const Network kNetworks[] = {
    {"M1",
     "M1.onnx",
     "calib_64_fbank_norm.f32",
     "eval_300_fbank_norm.f32",
     "eval_300_labels.i32",
     "feats",
     {1, 40, 98}},
    {"M1s",
     "M1s.onnx",
     "calib_64_fbank_norm.f32",
     "eval_300_fbank_norm.f32",
     "eval_300_labels.i32",
     "feats",
     {1, 40, 98}},
    {"M2",
     "M2.onnx",
     "calib_64_mfcc_norm.f32",
     "eval_300_mfcc_norm.f32",
     "eval_300_labels.i32",
     "mfcc",
     {1, 1, 49, 10}},
    {"M3",
     "M3.onnx",
     "calib_64_fbank_norm.f32",
     "eval_300_fbank_norm.f32",
     "eval_300_labels.i32",
     "feats",
     {1, 40, 98}},
    {"H1",
     "har/H1.onnx",
     "har/calib_64_windows.csv",
     "har/test_300_norm.f32",
     "har/test_300_labels.i32",
     "feats",
     {1, 6, 128}},
};

std::filesystem::path trained(const std::string& name) { return data_folder() / "trained" / name; }

std::vector<Clip> clips_of_floats(const std::vector<std::byte>& bytes, std::size_t elements) {
  std::vector<Clip> clips(bytes.size() / sizeof(float) / elements);
  for (std::size_t i = 0; i < clips.size(); ++i) {
    clips[i].assign(1, std::vector<float>(elements));
    std::memcpy(clips[i][0].data(), bytes.data() + i * elements * sizeof(float), elements * sizeof(float));
  }
  return clips;
}

// Windows of six channels with the normalisation of the training: "window, time, six channels, label".
std::vector<Clip> clips_of_windows(const std::filesystem::path& path) {
  const Json results = Json::parse(std::ifstream(trained("har/H1_results.json")));
  std::vector<Clip> clips;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream row(line);
    std::size_t window = 0, time = 0;
    row >> window >> time;
    if (window >= clips.size()) clips.resize(window + 1, Clip(1, std::vector<float>(6 * 128)));
    for (std::size_t c = 0; c < 6; ++c) {
      double value = 0;
      row >> value;
      clips[window][0][c * 128 + time] =
          static_cast<float>((value - results["mean"][c].get<double>()) / results["std"][c].get<double>());
    }
  }
  return clips;
}

struct Reference {
  int correct = 0;
  double ratio = 0;
};
Reference reference_of(const std::string& model, const std::string& target, int bits) {
  const Json all = Json::parse(std::ifstream(data_folder() / "conformance" / "accuracy.json"));
  for (const Json& row : all["rows"]) {
    if (row["model"] == model && row["target"] == target && row["bits"] == bits) {
      return {static_cast<int>(std::lround(row["quant_acc"].get<double>() * row["n_eval"].get<double>())),
              row["logit_nsr"].get<double>()};
    }
  }
  ADD_FAILURE() << model << ' ' << target;
  return {};
}

constexpr int kFewer = 1;  // decisions of 300

class QuantizedAccuracy : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    RUNNEL_NEEDS_DATA();
    const Network& network = GetParam();
    compiler::OnnxOptions onnx;
    onnx.shapes[network.input] = network.shape;
    auto imported = compiler::import_onnx(read_file(trained(network.file)), onnx);
    ASSERT_TRUE(imported.ok()) << imported.status().text();
    graph_ = std::move(imported->graph);
    std::size_t elements = 1;
    for (const std::int64_t dim : network.shape) elements *= static_cast<std::size_t>(dim);
    const bool windows = network.calibration.ends_with(".csv");
    calibration_ = std::make_unique<MemoryClips>(
        windows ? clips_of_windows(trained(network.calibration))
                : clips_of_floats(read_file(trained(network.calibration)), elements));
    evaluation_ =
        std::make_unique<MemoryClips>(clips_of_floats(read_file(trained(network.evaluation)), elements));
    labels_ = *read_labels(trained(network.labels));
    ASSERT_EQ(calibration_->size(), 64u);
  }
  // Quantizes and prints a row; what was measured comes back.
  Accuracy measure(const char* name, const char* target, int bits, Methods offered = usual_methods()) const {
    Options options = options_for(target, 2);
    options.offered = offered;
    options.type = bits == 8 ? DType::int8 : DType::int16;
    const auto quantized = quantize(graph_, *calibration_, options);
    EXPECT_TRUE(quantized.ok()) << quantized.status().text();
    const auto accuracy = evaluate(quantized->real, quantized->graph, *evaluation_, labels_, 2);
    EXPECT_TRUE(accuracy.ok()) << accuracy.status().text();
    const Reference theirs = reference_of(GetParam().name, name, bits);
    std::printf("| %s | %s | %d | %.3g | %.3g | %zu | %zu | %d | %s%s |\n", GetParam().name.c_str(), name,
                bits, accuracy->noise, theirs.ratio, accuracy->real_correct, accuracy->correct,
                theirs.correct, offered.tqt ? "of all: " : "", names_of(quantized->methods).c_str());
    std::fflush(stdout);
    return *accuracy;
  }

  compiler::Graph graph_;
  std::unique_ptr<MemoryClips> calibration_, evaluation_;
  std::vector<int> labels_;
};

// A decision on the edge falls to either side by chance: where the reference is right more often than the
// float model itself, that is not asked for.
TEST_P(QuantizedAccuracy, Int8IsAsCloseToFloatAsTheReferenceOrCloser) {
  for (const auto& [name, target] :
       {std::pair("c", "esp32"), {"esp32s3", "esp32s3"}, {"esp32p4", "esp32p4"}}) {
    const Accuracy accuracy = measure(name, target, 8);
    const Reference theirs = reference_of(GetParam().name, name, 8);
    EXPECT_LE(accuracy.noise, theirs.ratio) << name;
    EXPECT_GE(static_cast<int>(accuracy.correct),
              std::min(theirs.correct, static_cast<int>(accuracy.real_correct)) - kFewer)
        << name;
    EXPECT_EQ(accuracy.streamed_correct.value_or(accuracy.correct), accuracy.correct) << name;
  }
}

TEST_P(QuantizedAccuracy, Int16DecidesAsFloatDoes) {
  for (const auto& [name, target] : {std::pair("c", "esp32"), {"esp32p4", "esp32p4"}}) {
    const Accuracy accuracy = measure(name, target, 16);
    EXPECT_EQ(accuracy.correct, accuracy.real_correct) << name;
    EXPECT_LT(accuracy.noise, 2e-5) << name;
  }
}

// M1 with everything on offer that there is.
class AllMethods : public QuantizedAccuracy {};

TEST_P(AllMethods, AreRightInAtMostTwoClipsFewerThanFloat) {
  Methods all = usual_methods();
  all.blocks = all.tqt = all.split = true;
  for (const auto& [name, target] : {std::pair("c", "esp32"), {"esp32p4", "esp32p4"}}) {
    const Accuracy eight = measure(name, target, 8, all), sixteen = measure(name, target, 16, all);
    EXPECT_GE(eight.correct + 2, eight.real_correct) << name;
    EXPECT_GE(sixteen.correct, sixteen.real_correct) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, AllMethods, testing::Values(kNetworks[0]),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Networks, QuantizedAccuracy, testing::ValuesIn(kNetworks),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace runnel::test
