#include "pipeline/nodes/stft/log_power.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/pipeline/node_chains.h"
#include "tests/pipeline/node_context.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

// The logarithms serve as factors here.
const NodeChain kChain("stft n_fft=64 hop_length=32 ! log_power floor=1e-6 ! mask");

std::vector<float> through(LogPower& node, const std::vector<float>& frames, NodeContext& context) {
  EXPECT_TRUE(node.prepare(context).ok());
  std::vector<float> y(frames.size() / static_cast<std::size_t>(context.input.channels) *
                       static_cast<std::size_t>(context.output.channels));
  Block in;
  in.data = reinterpret_cast<const std::byte*>(frames.data());
  in.count = static_cast<std::int64_t>(frames.size()) / context.input.channels;
  in.first = 5;
  Output out;
  out.data = reinterpret_cast<std::byte*>(y.data());
  out.capacity = in.count;
  EXPECT_TRUE(node.process(in, out).ok());
  EXPECT_EQ(out.count, in.count);
  EXPECT_EQ(out.first, 5);
  return y;
}

// Two frames of three bins: real parts, then imaginary parts.
const std::vector<float> kFrames = {3, 0, 1, 4, 0, 0, -1, 2, 0, 0, 0, 0};

TEST(LogPower, KeepsTheSpectrumForAMask) {
  HeapMemory memory;
  LogPower node;
  node.floor = 0.25F;
  NodeContext context = context_for(memory, Kind::frames, 6, 2);
  const std::vector<float> y = through(node, kFrames, context);
  EXPECT_EQ(context.output.channels, 9);
  EXPECT_EQ(context.output.beside, 6);
  ASSERT_EQ(y.size(), 18U);
  const std::vector<float> powers = {25, 0.25F, 1, 1, 4, 0.25F};
  for (std::size_t frame = 0; frame < 2; ++frame) {
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(y[9 * frame + i], kFrames[6 * frame + i]);
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(y[9 * frame + 6 + k], std::log(powers[3 * frame + k]), 1e-6);
  }
}

TEST(LogPower, AloneGivesOneValueForEachBin) {
  HeapMemory memory;
  LogPower node;
  node.keep = false;
  node.floor = 0.5F;
  NodeContext context = context_for(memory, Kind::frames, 6, 2);
  const std::vector<float> y = through(node, kFrames, context);
  EXPECT_EQ(context.output.channels, 3);
  EXPECT_EQ(context.output.beside, 0);
  ASSERT_EQ(y.size(), 6U);
  EXPECT_NEAR(y[0], std::log(25.0F), 1e-6);
  EXPECT_NEAR(y[1], std::log(0.5F), 1e-6);
}

TEST(LogPower, WantsSpectra) {
  HeapMemory memory;
  LogPower node;
  NodeContext context = context_for(memory, Kind::frames, 7, 2);
  const Status status = node.prepare(context);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.text().find("K real parts, K imaginary parts"), std::string_view::npos) << status.text();
}

// A mask of ones gives the sound back, whatever the blocks: `framing` is not needed, as the inverse STFT
// takes what the STFT gives. 20 ms of sqrt-Hann windows every 10 ms, as models/denoise has them.
TEST(LogPower, SpectraOfTheDenoiserAreInvertible) {
  const runnel::test::TemporaryFolder folder;
  const std::vector<std::int16_t> samples = make_samples(16000 + 77);
  const std::string wav = (folder.path() / "a.wav").string();
  write_recording(wav, samples);
  const std::string settings = " n_fft=320 hop_length=160 window_type=sqrt_hann pad_mode=zero";
  std::vector<float> first;
  for (const std::int64_t tick : {1, 77, 160, 1024, 100000}) {
    GraphOptions options;
    options.nodes = test_nodes();
    options.tick = tick;
    run_graph("wav path=" + wav + " ! stft" + settings + " ! istft" + settings + " ! keep", options);
    ASSERT_EQ(Keep::values.size(), samples.size() / 160 * 160);
    EXPECT_EQ(Keep::indices.front(), 0);
    double worst = 0;
    for (std::size_t i = 0; i < Keep::values.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(Keep::values[i]) - samples[i] / 32768.0));
    EXPECT_LT(worst, 1e-6);
    if (first.empty()) first = Keep::values;
    EXPECT_EQ(Keep::values, first) << "tick " << tick;
  }
}

}  // namespace
}  // namespace runnel::pipeline::test
