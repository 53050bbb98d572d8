#include "pipeline/nodes/spectrum/spectral_centroid.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/pipeline/node_chains.h"
#include "tests/pipeline/node_context.h"

namespace runnel::pipeline::test {
namespace {

const NodeChain kChain("fbank kind=spectrogram ! spectral_centroid");

float centroid_of(const std::vector<float>& frame, float low, float high) {
  HeapMemory memory;
  SpectralCentroid node;
  node.low_freq = low;
  node.high_freq = high;
  NodeContext context = context_for(memory, Kind::frames, static_cast<std::int32_t>(frame.size()), 1);
  EXPECT_TRUE(node.prepare(context).ok());
  EXPECT_EQ(context.output.channels, 1);
  float y = -1;
  const Block in{reinterpret_cast<const std::byte*>(frame.data()), 1, 0};
  Output out{reinterpret_cast<std::byte*>(&y), 1};
  EXPECT_TRUE(node.process(in, out).ok());
  return y;
}

TEST(SpectralCentroid, IsTheFrequencyOfALoneBin) {
  EXPECT_EQ(centroid_of({0, 0, 3, 0, 0}, 0, 8000), 4000);
  EXPECT_EQ(centroid_of({2, 0, 0}, 100, 300), 100);
}

TEST(SpectralCentroid, WeighsWithTheValues) {
  EXPECT_EQ(centroid_of({1, 0, 3}, 0, 4000), 3000);
  EXPECT_EQ(centroid_of({1, 1, 1, 1}, 0, 3000), 1500);
}

TEST(SpectralCentroid, OfSilenceIsZero) { EXPECT_EQ(centroid_of({0, 0, 0}, 50, 8000), 0); }

}  // namespace
}  // namespace runnel::pipeline::test
