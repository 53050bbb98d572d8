// The nodes around features: inverses undo, frame counts are those of the definitions, what does not fit is
// refused.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "pipeline/host/graph.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using runnel::test::TemporaryFolder;

class FeatureNodes : public testing::Test {
 protected:
  FeatureNodes() : samples_(make_samples(6077)) { write_recording(folder_.path() / "a.wav", samples_); }
  NpyFile run(const std::string& nodes, std::int64_t tick) {
    const fs::path out = folder_.path() / (std::to_string(++number_) + ".npy");
    run_graph(
        "wav path=" + (folder_.path() / "a.wav").string() + " ! " + nodes + " ! npy path=" + out.string(),
        {.tick = tick});
    return read_npy(out);
  }
  std::string refusal(const std::string& nodes) {
    const auto graph = Graph::build("wav path=" + (folder_.path() / "a.wav").string() + " ! " + nodes +
                                        " ! npy path=" + (folder_.path() / "r.npy").string(),
                                    {});
    return graph.ok() ? "none" : std::string(graph.status().text());
  }

  TemporaryFolder folder_;
  std::vector<std::int16_t> samples_;
  int number_ = 0;
};

TEST_F(FeatureNodes, InverseStftGivesTheSamplesBack) {
  const NpyFile got = run("stft n_fft=400 hop_length=160 ! istft n_fft=400 hop_length=160", 1000);
  ASSERT_EQ(got.rows, 37 * 160);  // 1 + 6077 / 160 frames, up to the centre of the last
  const std::vector<float> values = got.floats();
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], static_cast<float>(samples_[i]) / 32768, 1e-6) << i;
}

TEST_F(FeatureNodes, HaveTheFrameCountsOfTheirDefinitions) {
  const std::map<std::string, std::pair<std::int64_t, std::int32_t>> expected = {
      {"fbank", {36, 23}},
      {"fbank ! deltas", {36, 69}},
      {"fbank ! stack", {6, 161}},
      {"fbank preset=whisper", {37, 80}},
      {"fbank preset=torchaudio", {31, 128}},
      {"stft", {48, 514}},
      {"levels", {36, 4}},
      {"fbank ! cmvn mode=utterance", {36, 23}}};
  for (const auto& [nodes, shape] : expected) {
    const NpyFile got = run(nodes, 500);
    EXPECT_EQ(got.rows, shape.first) << nodes;
    EXPECT_EQ(got.columns, shape.second) << nodes;
  }
}

TEST_F(FeatureNodes, SayWhatDoesNotFit) {
  EXPECT_EQ(refusal("stft hop_length=600"),
            "stft: hop_length 600: windows of 512 samples do not cover every sample; expected a smaller hop");
  EXPECT_NE(refusal("stft ! istft n_fft=400").find("istft with n_fft=400 wants frames of 402 values"),
            std::string::npos);
  EXPECT_NE(refusal("fbank ! mask").find("mask wants frames of 3 K values"), std::string::npos);
  EXPECT_NE(
      refusal("fbank ! deltas window=4").find("window 4 of deltas: expected an odd number from 3 to 99"),
      std::string::npos);
  EXPECT_NE(refusal("highpass cutoff=9kHz").find("expected above 0 and below half the sample rate, 8000 Hz"),
            std::string::npos);
}

}  // namespace
}  // namespace runnel::pipeline::test
