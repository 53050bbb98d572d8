// The bundled vibration model on signals that nobody trained on, through the front end that it brings.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "compiler/import/load.h"
#include "inference/host/engine.h"
#include "models/vibration/signal.h"
#include "pipeline/host/graph.h"
#include "tests/pipeline/support.h"

namespace runnel {
namespace {

namespace fs = std::filesystem;

class Vibration : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "vibration_test";
    fs::create_directories(folder_);
    path_ = fs::path(std::getenv("RUNNEL_PROGRAM")).parent_path() / "models/vibration/vibration.rnl";
    const auto loaded = OwnedModel::from_file(path_);
    ASSERT_TRUE(loaded.ok()) << loaded.status().text();
    model_ = *loaded;
  }
  // The state that most of the frames after the warm-up have.
  std::size_t decide(const std::vector<std::int16_t>& samples) {
    const fs::path file = folder_ / "signal.wav";
    pipeline::test::write_recording(file, samples, vibration::kRate);
    compiler::FileLoader loader;
    pipeline::GraphOptions options;
    options.models = &loader;
    options.operators = all_operators();
    const fs::path out = folder_ / "scores.npy";
    const auto graph = pipeline::Graph::build(
        "wav path=" + file.string() + " ! " + model_->model().pipeline()->front_end()->str() +
            " ! infer dequantize=true model=" + path_.string() + " ! npy path=" + out.string(),
        options);
    EXPECT_TRUE(graph.ok()) << graph.status().text();
    if (!graph.ok()) return 5;
    const Status ran = (*graph)->run();
    EXPECT_TRUE(ran.ok()) << ran.text();
    const pipeline::test::NpyFile scores = pipeline::test::read_npy(out);
    EXPECT_EQ(scores.columns, 5);
    const std::vector<float> values = scores.floats();
    std::array<int, 5> votes{};
    for (std::size_t frame = 8; 5 * (frame + 1) <= values.size(); ++frame) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(frame * 5);
      ++votes[static_cast<std::size_t>(std::max_element(first, first + 5) - first)];
    }
    return static_cast<std::size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
  }

  fs::path folder_, path_;
  std::shared_ptr<const OwnedModel> model_;
};

TEST_F(Vibration, RecognisesFreshSignals) {
  constexpr int kSignals = 150;
  int right = 0;
  for (int i = 0; i < kSignals; ++i) {
    const std::size_t state = static_cast<std::size_t>(i) % 5;
    right += decide(vibration::signal(state, 5'000'000 + static_cast<std::uint64_t>(i))) == state ? 1 : 0;
  }
  EXPECT_GE(right, kSignals * 98 / 100);
}

TEST_F(Vibration, BringsItsFrontEndAndLabels) {
  const fb::Pipeline& pipeline = *model_->model().pipeline();
  EXPECT_EQ(pipeline.sample_rate(), vibration::kRate);
  ASSERT_EQ(pipeline.labels()->size(), vibration::kStates.size());
  for (std::size_t i = 0; i < vibration::kStates.size(); ++i) {
    EXPECT_EQ(pipeline.labels()->Get(static_cast<flatbuffers::uoffset_t>(i))->str(), vibration::kStates[i]);
  }
  ASSERT_NE(model_->model().plan(), nullptr) << "it streams";
  EXPECT_EQ(model_->model().tensor(model_->model().inputs()[0]).dtype, DType::int8);
}

// The twin in Python makes these: generator.signal('bearing', 7)[:8] and the sum of all samples' magnitudes.
TEST(VibrationSignal, IsThatOfTheTrainingScripts) {
  const std::vector<std::int16_t> samples = vibration::signal(4, 7);
  ASSERT_EQ(samples.size(), 8000u);
  std::int64_t sum = 0;
  for (const std::int16_t sample : samples) sum += std::abs(sample);
  const std::array<std::int16_t, 8> expected = {-83, 689, -471, -1682, -44, 329, -1236, -1408};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), samples.begin()));
  EXPECT_EQ(sum, 6070111);
}

}  // namespace
}  // namespace runnel
