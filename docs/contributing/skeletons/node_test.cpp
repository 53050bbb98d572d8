// Copy to tests/pipeline/nodes/KIND/NAME_test.cpp and change the include. A test states what the node
// computes, in the words of its formula. The contract test of all nodes checks partitions, gaps, restarts,
// the stated delay and allocations, with the chain that this file declares:
//
//     #include "tests/pipeline/node_chains.h"
//     const NodeChain kChain("envelope decay=0.9");  // after a recording of 16 kHz, mono, 16 bits
#include "docs/contributing/skeletons/node.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/pipeline/node_context.h"

namespace runnel::pipeline::test {
namespace {

// The output for samples of one channel.
std::vector<float> envelope_of(Envelope& node, const std::vector<float>& x) {
  HeapMemory memory;
  const auto count = static_cast<std::int64_t>(x.size());
  NodeContext context = context_for(memory, Kind::audio, 1, count);
  EXPECT_TRUE(node.prepare(context).ok());
  EXPECT_EQ(node.reset(0), 0);
  std::vector<float> y(x.size());
  Block in;
  in.data = reinterpret_cast<const std::byte*>(x.data());
  in.count = count;
  Output out;
  out.data = reinterpret_cast<std::byte*>(y.data());
  out.capacity = count;
  EXPECT_TRUE(node.process(in, out).ok());
  EXPECT_EQ(out.count, count);
  return y;
}

TEST(EnvelopeTest, RisesAtOnceAndDecaysBySample) {
  Envelope node;
  node.decay = 0.5f;
  EXPECT_EQ(envelope_of(node, {0, -1, 0, 0, 0.75f, 0}),
            (std::vector<float>{0, 1, 0.5f, 0.25f, 0.75f, 0.375f}));
}

}  // namespace
}  // namespace runnel::pipeline::test
