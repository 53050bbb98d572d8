// The nodes around features: any tick gives the same bits, inverses undo, indices and clocks are those of the
// recording.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/host/graph.h"
#include "pipeline/nodes/nodes.h"
#include "tests/pipeline/node_chains.h"
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

// Older nodes; the test of a new one declares its own (tests/pipeline/node_chains.h).
constexpr std::string_view kChains[] = {
    "gain db=-6",
    "highpass cutoff=80",
    "preemphasis",
    "dither seed=3",
    "levels",
    "stft",
    "stft ! istft",
    "fbank preset=whisper",
    "fbank preset=whisper log_max=running",
    "fbank kind=spectrogram",
    "fbank ! deltas",
    "fbank ! deltas order=1 with_static=false",
    "fbank ! stack",
    "fbank ! stack frames=4 step=2 pad=false",
    "fbank ! cmvn mode=sliding window=20 min_window=5",
    "fbank ! cmvn mode=sliding center=true window=9",
    "fbank ! cmvn mode=mirror window=11",
    "fbank ! cmvn mode=exponential frames=20",
    "fbank ! cmvn mode=utterance",
    "preemphasis coefficient=0.98 ! fbank preset=edge-impulse-mfcc ! cmvn mode=mirror window=101",
    "downmix",
    "resample rate=11025",
    "microfrontend",
    "framing window=25ms hop=10ms",
    "statistics window=25ms hop=10ms statistics=mean,rms,zero_crossings",
    "stft n_fft=64 hop_length=32 ! framing window=3 hop=3 ! mask"};
// Tested in files of their own: with several inputs, with models, without an output.
constexpr std::string_view kElsewhere[] = {"join", "infer", "detect", "null"};

std::vector<std::string_view> all_chains() {
  std::vector<std::string_view> chains(std::begin(kChains), std::end(kChains));
  chains.insert(chains.end(), NodeChain::all().begin(), NodeChain::all().end());
  return chains;
}

// A new node cannot be forgotten.
TEST(FeatureNodesList, HasEveryDeviceNode) {
  const std::vector<std::string_view> chains = all_chains();
  for (const NodeType* type : device_nodes()) {
    const bool elsewhere =
        std::find(std::begin(kElsewhere), std::end(kElsewhere), type->name) != std::end(kElsewhere);
    const bool here = std::any_of(chains.begin(), chains.end(), [&](std::string_view chain) {
      for (std::size_t at = 0; at != std::string_view::npos; at = chain.find("! ", at + 1)) {
        const std::string_view rest = chain.substr(at == 0 ? 0 : at + 2);
        if (rest.substr(0, rest.find(' ')) == type->name) return true;
      }
      return false;
    });
    EXPECT_TRUE(here != elsewhere) << "the node " << type->name
                                   << ": declare a NodeChain with it in its test";
  }
}

TEST_F(FeatureNodes, GiveTheSameBitsForEveryTick) {
  for (const std::string_view chain : all_chains()) {
    const std::string nodes(chain);
    const NpyFile expected = run(nodes, 100000);
    EXPECT_GT(expected.rows, 0) << nodes;
    for (const std::int64_t tick : {1, 160, 1000}) {
      const NpyFile got = run(nodes, tick);
      EXPECT_EQ(got.columns, expected.columns) << nodes;
      EXPECT_EQ(got.bytes, expected.bytes) << nodes << " tick " << tick;
    }
  }
}

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
