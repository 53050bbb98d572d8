#include "pipeline/nodes/spectrum/spectral_rolloff.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/pipeline/node_chains.h"
#include "tests/pipeline/node_context.h"

namespace runnel::pipeline::test {
namespace {

const NodeChain kChain("fbank kind=spectrogram ! spectral_rolloff part=0.6");

// The frequency for a frame whose values lie at 0, 1000, 2000, ... Hz.
float rolloff_of(const std::vector<float>& frame, float part) {
  HeapMemory memory;
  SpectralRolloff node;
  node.part = part;
  node.high_freq = 1000 * static_cast<float>(frame.size() - 1);
  NodeContext context = context_for(memory, Kind::frames, static_cast<std::int32_t>(frame.size()), 1);
  EXPECT_TRUE(node.prepare(context).ok());
  EXPECT_EQ(context.output.channels, 1);
  float y = -1;
  const Block in{reinterpret_cast<const std::byte*>(frame.data()), 1, 0};
  Output out{reinterpret_cast<std::byte*>(&y), 1};
  EXPECT_TRUE(node.process(in, out).ok());
  EXPECT_EQ(out.count, 1);
  return y;
}

TEST(SpectralRolloff, IsTheFirstFrequencyThatReachesThePart) {
  const std::vector<float> frame{1, 2, 3, 2};
  EXPECT_EQ(rolloff_of(frame, 0.125F), 0);  // 1 of 8, exactly
  EXPECT_EQ(rolloff_of(frame, 0.126F), 1000);
  EXPECT_EQ(rolloff_of(frame, 0.375F), 1000);
  EXPECT_EQ(rolloff_of(frame, 0.75F), 2000);
  EXPECT_EQ(rolloff_of(frame, 0.85F), 3000);
}

TEST(SpectralRolloff, OfTheWholeIsTheLastValueAboveZero) {
  EXPECT_EQ(rolloff_of({0.1F, 0.2F, 0.7F, 0, 0}, 1), 2000);
  EXPECT_EQ(rolloff_of({0, 0, 5}, 1), 2000);
  EXPECT_EQ(rolloff_of({0, 0, 5}, 0), 0);
}

TEST(SpectralRolloff, StartsAtLowFreq) {
  HeapMemory memory;
  SpectralRolloff node;
  node.low_freq = 100;
  node.high_freq = 300;
  NodeContext context = context_for(memory, Kind::frames, 3, 2);
  ASSERT_TRUE(node.prepare(context).ok());
  const std::vector<float> frames{1, 0, 0, 0, 4, 0};
  std::vector<float> y(2);
  const Block in{reinterpret_cast<const std::byte*>(frames.data()), 2, 0};
  Output out{reinterpret_cast<std::byte*>(y.data()), 2};
  ASSERT_TRUE(node.process(in, out).ok());
  EXPECT_EQ(y, (std::vector<float>{100, 200}));
}

TEST(SpectralRolloff, OfSilenceOrNoNumberIsZero) {
  EXPECT_EQ(rolloff_of({0, 0, 0}, 0.85F), 0);
  EXPECT_EQ(rolloff_of({1, std::numeric_limits<float>::quiet_NaN(), 1}, 0.85F), 0);
}

TEST(SpectralRolloff, RefusesIntegers) {
  HeapMemory memory;
  SpectralRolloff node;
  NodeContext context = context_for(memory, Kind::frames, 3, 1);
  context.input.dtype = DType::int16;
  const Status status = node.prepare(context);
  EXPECT_EQ(status.code(), Code::mismatch) << status.text();
  EXPECT_NE(status.text().find("float32"), std::string_view::npos) << status.text();
}

}  // namespace
}  // namespace runnel::pipeline::test
