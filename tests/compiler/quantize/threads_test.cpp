// The same integers for any number of threads.
#include <gtest/gtest.h>

#include "compiler/quantize/quantize.h"
#include "tests/compiler/quantize/small_graph.h"

namespace runnel::test {
namespace {

TEST(QuantizeThreads, AnyNumberGivesTheSameModel) {
  SmallGraph small;
  const compiler::quantizer::MemoryClips data(small.clips(13));
  const auto one = compiler::quantizer::quantize(small.graph, data, options_for("esp32p4", 1));
  ASSERT_TRUE(one.ok()) << one.status().text();
  for (const int threads : {2, 4, 9}) {
    const auto many = compiler::quantizer::quantize(small.graph, data, options_for("esp32p4", threads));
    ASSERT_TRUE(many.ok()) << many.status().text();
    EXPECT_EQ(many->error, one->error) << threads;
    ASSERT_EQ(many->graph.tensors.size(), one->graph.tensors.size());
    for (std::size_t i = 0; i < one->graph.tensors.size(); ++i) {
      EXPECT_EQ(many->graph.tensors[i].data, one->graph.tensors[i].data) << one->graph.tensors[i].name;
      EXPECT_EQ(many->graph.tensors[i].exponents, one->graph.tensors[i].exponents)
          << one->graph.tensors[i].name;
    }
  }
}

}  // namespace
}  // namespace runnel::test
