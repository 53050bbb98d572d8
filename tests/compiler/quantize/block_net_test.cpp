// Networks that are trained: blocks of a graph, derivatives, what training reaches.
#include "compiler/quantize/train/block_net.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/quantize.h"
#include "compiler/quantize/train/random.h"
#include "tests/compiler/quantize/small_graph.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using compiler::Graph;

// Every tensor from -4 to 4.
Plan wide_plan(const Graph& graph, const char* target, DType type) {
  Options options = options_for(target);
  options.type = type;
  Plan plan = *make_plan(graph, options);
  for (Range& range : plan.ranges) range = {-4, 4};
  return plan;
}

TEST(QuantizeBlocks, ASumIsInOneBlockWithItsOperands) {
  const SmallGraph small;
  const Plan plan = wide_plan(small.graph, "generic", DType::int8);
  const std::vector<Block> blocks = blocks_of(small.graph, plan, 1);
  ASSERT_EQ(blocks.size(), 3u);  // first; deep, point and their sum; gate and dense
  EXPECT_EQ(blocks[0].end, 1u);
  EXPECT_EQ(blocks[1].first, 1u);
  EXPECT_EQ(blocks[1].end, 4u);
  EXPECT_EQ(blocks[1].outputs, std::vector<compiler::TensorId>{small.graph.nodes[3].outputs[0]});
  EXPECT_EQ(blocks[2].end, small.graph.nodes.size());
  EXPECT_EQ(blocks[2].outputs, small.graph.outputs);
  EXPECT_EQ(blocks_of(small.graph, plan, 100).size(), 1u);
  // What stays float is in none.
  Plan mixed = plan;
  mixed.types[4] = DType::float32;
  EXPECT_EQ(blocks_of(small.graph, mixed, 1).back().first, 5u);
}

// On the fine grids of 16 bits rounding hardly shows, and derivatives are those of the float network; a
// difference of losses still has the noise of rounding and the bends of ReLU in it, which come and go from
// one parameter to the next.
TEST(QuantizeBlocks, DerivativesAreThoseOfTheLoss) {
  const SmallGraph small;
  const Plan plan = wide_plan(small.graph, "generic", DType::int16);
  const Block whole = blocks_of(small.graph, plan, 100)[0];
  const BlockNet net(small.graph, plan, whole, false);
  std::vector<float> parameters = net.parameters();
  Random random(3);
  std::vector<float> x(24 * 4), wanted(24 * 3);
  for (float& value : x) value = static_cast<float>(2 * random.uniform() - 1);
  for (float& value : wanted) value = static_cast<float>(2 * random.uniform() - 1);
  BlockNet::Work work;
  std::vector<float> gradient(parameters.size(), 0.0f);
  const BlockNet::Ready ready = net.ready(parameters);
  net.run(ready, parameters, x, wanted, work, &gradient);
  net.pass_rounding(ready, parameters, gradient);
  int looked = 0;
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < parameters.size(); i += 3) {
    if (net.rates()[i] == 0) continue;  // scales that are fixed
    const auto loss_at = [&](float change) {
      std::vector<float> moved = parameters;
      moved[i] += change;
      return net.run(net.ready(moved), moved, x, wanted, work, nullptr);
    };
    const float width = 0.02f;
    const double expected = (loss_at(width) - loss_at(-width)) / (2 * static_cast<double>(width));
    const double found = static_cast<double>(gradient[i]);
    EXPECT_NEAR(found, expected, 0.1 * std::abs(expected) + 0.1) << "parameter " << i;
    difference += (found - expected) * (found - expected);
    size += expected * expected;
    ++looked;
  }
  EXPECT_LT(difference, 0.0025 * size);  // 5 %, all together
  EXPECT_GT(looked, 50);
}

TEST(QuantizeBlocks, ThresholdsMoveTowardsWhatIsUsed) {
  const SmallGraph small;
  Plan plan = wide_plan(small.graph, "esp32", DType::int8);
  for (Range& range : plan.ranges) range = {-60, 60};  // far too wide
  plan.range(small.graph.inputs[0]) = {-4, 4};
  const Block whole = blocks_of(small.graph, plan, 100)[0];
  const BlockNet net(small.graph, plan, whole, true);
  const std::vector<float> parameters = net.parameters();
  Plan same = plan;
  net.store(parameters, same);
  for (std::size_t id = 0; id < plan.ranges.size(); ++id)
    EXPECT_EQ(same.ranges[id], plan.ranges[id]);  // nothing was trained
  std::vector<float> finer = parameters;
  finer.back() -= 3;  // the last activation whose scale is free
  net.store(finer, same);
  int changed = 0;
  for (std::size_t id = 0; id < plan.ranges.size(); ++id) {
    if (same.ranges[id] == plan.ranges[id]) continue;
    EXPECT_EQ(same.ranges[id].high, plan.ranges[id].high / 8);
    EXPECT_NE(static_cast<compiler::TensorId>(id), small.graph.outputs[0]) << "outputs are never cut";
    ++changed;
  }
  EXPECT_EQ(changed, 1);
}

TEST(QuantizeBlocks, TrainingLowersTheErrorOnClipsItHasNotSeen) {
  SmallGraph small(48);
  const MemoryClips data(small.clips(32)), others(small.clips(24));
  const auto made_with = [&](const char* method, int threads) {
    Options options = options_for("esp32", threads);
    options.methods = Methods{};
    options.methods->equalize = options.methods->round = options.methods->search =
        options.methods->correct_bias = false;
    if (method[0] != '\0') {
      EXPECT_TRUE(set_method(*options.methods, method, true).ok());
    }
    auto quantized = quantize(small.graph, data, options);
    EXPECT_TRUE(quantized.ok()) << quantized.status().text();
    return std::move(*quantized);
  };
  const auto error_of = [&](const Quantized& quantized) {
    return (*compare_forms(quantized.real, quantized.graph, others, all_of(24), 1))[0].ratio();
  };
  const double plain = error_of(made_with("", 1)), blocks = error_of(made_with("blocks", 1));
  const Quantized tqt = made_with("tqt", 1);
  EXPECT_LT(blocks, 0.9 * plain);
  EXPECT_LT(error_of(tqt), 0.9 * plain);
  // The same for any number of threads.
  const Quantized two = made_with("tqt", 2);
  for (std::size_t i = 0; i < tqt.graph.tensors.size(); ++i) {
    EXPECT_EQ(tqt.graph.tensors[i].data, two.graph.tensors[i].data) << i;
    EXPECT_EQ(tqt.graph.tensors[i].exponents, two.graph.tensors[i].exponents) << i;
  }
}

}  // namespace
}  // namespace runnel::test
