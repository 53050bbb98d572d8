#include "pipeline/nodes/spectrum/spectral_flux.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/pipeline/node_chains.h"
#include "tests/pipeline/node_context.h"

namespace runnel::pipeline::test {
namespace {

const NodeChain kChain("fbank ! spectral_flux norm=2");

// Frames of three values through the node, in one block.
std::vector<float> flux_of(SpectralFlux& node, const std::vector<float>& frames, HeapMemory& memory) {
  NodeContext context = context_for(memory, Kind::frames, 3, 16);
  EXPECT_TRUE(node.prepare(context).ok());
  EXPECT_EQ(context.output.channels, 1);
  EXPECT_EQ(node.reset(0), 0);
  std::vector<float> y(frames.size() / 3);
  Block in;
  in.data = reinterpret_cast<const std::byte*>(frames.data());
  in.count = static_cast<std::int64_t>(y.size());
  Output out;
  out.data = reinterpret_cast<std::byte*>(y.data());
  out.capacity = in.count;
  EXPECT_TRUE(node.process(in, out).ok());
  EXPECT_EQ(out.count, in.count);
  return y;
}

TEST(SpectralFlux, AddsWhatGrows) {
  HeapMemory memory;
  SpectralFlux node;
  // +1 +2 0, then -1 -2 +4: only what grows counts.
  EXPECT_EQ(flux_of(node, {0, 1, 5, 1, 3, 5, 0, 1, 9}, memory), (std::vector<float>{0, 3, 4}));
}

TEST(SpectralFlux, OfNormTwoIsALength) {
  HeapMemory memory;
  SpectralFlux node;
  node.norm = 2;
  EXPECT_EQ(flux_of(node, {0, 0, 0, 3, 4, -7}, memory), (std::vector<float>{0, 5}));
}

TEST(SpectralFlux, StartsAfreshAfterAGap) {
  HeapMemory memory;
  SpectralFlux node;
  EXPECT_EQ(flux_of(node, {1, 1, 1, 2, 1, 1}, memory), (std::vector<float>{0, 1}));
  EXPECT_EQ(node.reset(70), 70);
  const float frame[3] = {9, 9, 9};
  float y = -1;
  Block in;
  in.data = reinterpret_cast<const std::byte*>(frame);
  in.count = 1;
  in.first = 70;
  Output out;
  out.data = reinterpret_cast<std::byte*>(&y);
  out.capacity = 1;
  ASSERT_TRUE(node.process(in, out).ok());
  EXPECT_EQ(y, 0);
  EXPECT_EQ(out.first, 70);
}

}  // namespace
}  // namespace runnel::pipeline::test
