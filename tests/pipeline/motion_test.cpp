// A network that classifies motions by six channels of an accelerometer and a gyroscope, from the recording
// to the decisions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/import/load.h"
#include "compiler/import/usage.h"
#include "inference/host/engine.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kClasses = 6;

class Motion : public testing::Test {
 protected:
  void SetUp() override {
    RUNNEL_NEEDS_DATA();
    folder_ = runnel::test::data_folder() / "trained" / "har";
    results_ = nlohmann::json::parse(read_text(folder_ / "H1_results.json"));
  }
  GraphOptions options(std::int64_t tick) {
    GraphOptions result;
    result.nodes = test_nodes();
    result.tick = tick;
    result.models = &loader_;
    result.operators = all_operators();
    return result;
  }
  // "cmvn mean=... deviation=..." with the statistics of training.
  std::string z_score() const {
    const auto list = [](const nlohmann::json& values) {
      std::string text;
      for (const auto& value : values) text += (text.empty() ? "" : ",") + value.dump();
      return text;
    };
    return "cmvn mean=" + list(results_["mean"]) + " deviation=" + list(results_["std"]);
  }
  std::string table(const char* name) const {
    return "csv rate=50 columns=total_acc_x,total_acc_y,total_acc_z,body_gyro_x,body_gyro_y,body_gyro_z "
           "path=" +
           (folder_ / name).string();
  }
  static std::size_t best(const float* logits) {
    return static_cast<std::size_t>(std::max_element(logits, logits + kClasses) - logits);
  }

  fs::path folder_;
  nlohmann::json results_;
  compiler::FileLoader loader_;
  runnel::test::TemporaryFolder temporary_;
};

// The recording as a stream: the logits of the float network over the whole of it, frame by frame, and its
// decisions.
TEST_F(Motion, StreamOfATable) {
  // [2688, 6], in Fortran order after a header of 128 bytes.
  const std::vector<std::byte> file = runnel::test::read_file(folder_ / "stream_logits_H1.npy");
  ASSERT_GT(file.size(), 128u);
  const std::size_t frames = (file.size() - 128) / (kClasses * sizeof(float));
  std::vector<float> expected(frames * kClasses);
  for (std::size_t i = 0; i < expected.size(); ++i)
    std::memcpy(&expected[i % frames * kClasses + i / frames], file.data() + 128 + i * sizeof(float),
                sizeof(float));
  const auto truth = nlohmann::json::parse(read_text(folder_ / "stream_50hz.json"));
  const std::string chain =
      " ! " + z_score() + " ! infer model=" + (folder_ / "H1.onnx").string() + " ! keep";
  for (const std::int64_t tick : {1, 100}) {
    run_graph(table("stream_50hz.csv") + chain, options(tick));
    ASSERT_EQ(Keep::values.size(), expected.size());
    EXPECT_EQ(Keep::format.clock.rate(), 25);
    float worst = 0;
    int right = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, std::fabs(Keep::values[i] - expected[i]));
    EXPECT_LT(worst, 1e-3F);
    for (std::size_t i = 0; i < expected.size() / kClasses; ++i) {
      EXPECT_EQ(best(&Keep::values[i * kClasses]), best(&expected[i * kClasses])) << "frame " << i;
      for (const auto& segment : truth["segments"]) {
        if (2 * i >= segment["start"].get<std::size_t>() && 2 * i < segment["end"].get<std::size_t>())
          right += best(&Keep::values[i * kClasses]) == segment["label_id"].get<std::size_t>() ? 1 : 0;
      }
    }
    EXPECT_EQ(static_cast<double>(right) / (static_cast<double>(expected.size()) / kClasses),
              results_["stream_frame_acc"].get<double>());
  }
}

// The same from an array, and joined from two recordings, one for each sensor: the same bits.
TEST_F(Motion, StreamOfAnArrayAndOfTwoSensors) {
  const std::string rest = " ! " + z_score() + " ! infer model=" + (folder_ / "H1.onnx").string() + " ! keep",
                    array = (temporary_.path() / "a.npy").string();
  run_graph(table("stream_50hz.csv") + " name=s ! npy path=" + array + " s." + rest, options(1000));
  const std::vector<float> logits = Keep::values;
  ASSERT_FALSE(logits.empty());
  run_graph("npy rate=50 path=" + array + rest, options(64));
  EXPECT_EQ(Keep::values, logits);
  const std::string file = " path=" + (folder_ / "stream_50hz.csv").string();
  run_graph("csv rate=50 columns=1-3" + file + " ! join name=j" + rest + " csv rate=50 columns=4-6" + file +
                " ! j.",
            options(64));
  EXPECT_EQ(Keep::values, logits);
}

// Windows of 2.56 s one by one: every decision is that of the float network.
TEST_F(Motion, DecisionsOfWindows) {
  auto imported = compiler::import_file((folder_ / "H1.onnx").string(), {});
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  compiler::UsageOptions usage;
  usage.usage = "window";
  usage.window = usage.hop = 128;
  Status status = compiler::apply_usage(usage, imported->graph);
  ASSERT_TRUE(status.ok()) << status.text();
  const auto written = compiler::write_for_use(imported->graph, {});
  ASSERT_TRUE(written.ok()) << written.status().text();
  const fs::path model = temporary_.path() / "windows.rnl";
  std::ofstream(model, std::ios::binary)
      .write(reinterpret_cast<const char*>(written->bytes.data()),
             static_cast<std::streamsize>(written->bytes.size()));

  run_graph(
      table("test_300_windows.csv") + " ! " + z_score() + " ! infer model=" + model.string() + " ! keep",
      options(1000));
  constexpr std::size_t kFrames = 64;
  ASSERT_EQ(Keep::values.size(), 300 * kFrames * kClasses);
  std::ifstream predictions(folder_ / "test_300_pred.csv");
  std::string line;
  std::getline(predictions, line);
  int right = 0;
  for (std::size_t window = 0; window < 300; ++window) {
    ASSERT_TRUE(std::getline(predictions, line));
    std::size_t number = 0, label = 0, expected = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%zu,%zu,%zu", &number, &label, &expected), 3);
    // The network's own layout: classes before time. The decision is the class with the highest mean.
    std::array<float, kClasses> means{};
    for (std::size_t i = 0; i < kClasses * kFrames; ++i)
      means[i / kFrames] += Keep::values[window * kClasses * kFrames + i] / kFrames;
    EXPECT_EQ(best(means.data()), expected) << "window " << window;
    right += best(means.data()) == label ? 1 : 0;
  }
  EXPECT_EQ(right, results_["test300_correct"].get<int>());
}

}  // namespace
}  // namespace runnel::pipeline::test
