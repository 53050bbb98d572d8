// Copy to tests/pipeline/nodes/audio/NAME_test.cpp. A test states what the node computes, in the words of its
// formula; that any partition gives the same bits, and that reset() forgets, hold for every node.
#include "docs/contributing/skeletons/node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/host/heap_memory.h"

namespace runnel::pipeline::test {
namespace {

// The output for a whole recording of one channel, given to the node in blocks of `block` samples.
std::vector<float> run(Node& node, const std::vector<float>& x, std::int64_t block) {
  std::vector<float> y(x.size());
  node.reset(0);
  for (std::int64_t first = 0; first < static_cast<std::int64_t>(x.size()); first += block) {
    const std::int64_t count = std::min(block, static_cast<std::int64_t>(x.size()) - first);
    const Block in{reinterpret_cast<const std::byte*>(x.data() + first), count, first};
    Output out{reinterpret_cast<std::byte*>(y.data() + first), count};
    EXPECT_TRUE(node.process(in, out).ok());
    EXPECT_EQ(out.count, count);
    EXPECT_EQ(out.first, first);
  }
  return y;
}

class EnvelopeTest : public testing::Test {
 protected:
  Status prepare() {
    NodeContext context{.memory = memory_,
                        .label = "envelope",
                        .input_label = "test",
                        .input = {},
                        .operators = {},
                        .fast = {},
                        .output = {},
                        .fix = {}};
    context.input.kind = Kind::audio;
    context.input.dtype = DType::float32;
    context.input.channels = 1;
    context.output = context.input;
    context.max_input = 8;
    return node_.prepare(context);
  }

  HeapMemory memory_;
  Envelope node_;
};

TEST_F(EnvelopeTest, RisesAtOnceAndDecaysBySample) {
  node_.decay = 0.5f;
  ASSERT_TRUE(prepare().ok());
  EXPECT_EQ(run(node_, {0, -1, 0, 0, 0.75f, 0}, 6), (std::vector<float>{0, 1, 0.5f, 0.25f, 0.75f, 0.375f}));
}

TEST_F(EnvelopeTest, GivesTheSameBitsForEveryPartition) {
  ASSERT_TRUE(prepare().ok());
  const std::vector<float> x = {0.1f, -0.7f, 0.3f, 0.2f, -0.9f, 0.05f, 0, 0.4f};
  const std::vector<float> whole = run(node_, x, 8);
  for (const std::int64_t block : {1, 2, 3, 5}) EXPECT_EQ(run(node_, x, block), whole) << block;
}

}  // namespace
}  // namespace runnel::pipeline::test
