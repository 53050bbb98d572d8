#include "streaming/plan.h"

#include <gtest/gtest.h>

#include <random>

namespace runnel::streaming {
namespace {

NodeRule window(std::int64_t kernel, std::int64_t stride, std::int64_t left, std::int64_t right,
                std::int64_t dilation = 1) {
  return {.kind = Kind::window,
          .kernel = kernel,
          .stride = stride,
          .dilation = dilation,
          .left = left,
          .right = right};
}

struct Case {
  const char* what;
  NodeRule rule;
  std::int64_t input_delay, delay, context;
};

TEST(Plan, KnownCases) {
  const Case cases[] = {
      {"causal", window(9, 1, 16, 0, 2), 3, 3, 16},
      {"centred", window(5, 1, 2, 2), 0, 2, 4},
      {"centred after a delay", window(5, 1, 2, 2), 7, 9, 4},
      {"no padding", window(5, 1, 0, 0), 1, 5, 4},
      {"semi-causal", window(5, 2, 3, 0), 0, 0, 3},
      {"stride 2, kernel 3", window(3, 2, 0, 0), 0, 1, 2},
      {"stride 2, kernel 4: two frames, not three", window(4, 2, 0, 0), 0, 1, 2},
      {"framing", window(400, 160, 0, 0), 0, 2, 320},
      {"framing with mirrored edges", window(400, 160, 120, 200), 0, 1, 280},
      {"slice from 6", window(1, 1, -6, 0), 2, 8, 0},
      {"kernel smaller than the stride: a phase, no memory", window(1, 3, 0, 0), 0, 0, 0},
  };
  for (const Case& c : cases) {
    const auto plan = plan_node(c.rule, {1, 1, c.input_delay});
    ASSERT_TRUE(plan.ok()) << c.what;
    EXPECT_EQ(plan->output.delay, c.delay) << c.what;
    EXPECT_EQ(plan->context, c.context) << c.what;
    EXPECT_EQ(plan->output.down, c.rule.stride) << c.what;
  }
}

TEST(Plan, TransposedConvolutionWaitsUntilItsLengthIsCertain) {
  NodeRule up{.kind = Kind::upsample, .kernel = 3, .stride = 3, .dilation = 1, .left = 1, .right = 1};
  const auto plan = plan_node(up, {1, 1, 0});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->output, (Stream{3, 1, 2}));  // crop 1 and one frame of certainty
  EXPECT_EQ(plan->context, 1);
  const auto nearest = plan_node({.kind = Kind::upsample, .kernel = 2, .stride = 2}, {1, 2, 4});
  ASSERT_TRUE(nearest.ok());
  EXPECT_EQ(nearest->output, (Stream{1, 1, 8}));
  EXPECT_EQ(nearest->context, 0);
}

// With the planned delay every output of a block is final when the block has arrived; with one frame less,
// some is not.
TEST(Plan, DelaysAreEnoughAndMinimal) {
  std::mt19937 random(7);
  const auto uniform = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 4000; ++round) {
    NodeRule rule = window(uniform(1, 7), uniform(1, 4), 0, 0, uniform(1, 3));
    rule.left = uniform(-4, static_cast<int>(rule.extent()) - 1);
    rule.right = uniform(-4, static_cast<int>(rule.extent()) - 1);
    if (uniform(0, 3) == 0) {
      rule.kind = Kind::upsample;
      rule.left = uniform(0, 3);
      rule.right = uniform(0, 3);
    }
    const std::int64_t delay = uniform(0, 9);
    const auto plan = plan_node(rule, {1, 1, delay});
    ASSERT_TRUE(plan.ok());
    const std::int64_t nx = rule.kind == Kind::upsample ? 1 : rule.stride,
                       ny = rule.kind == Kind::upsample ? rule.stride : 1;
    const auto enough = [&](std::int64_t d) {
      for (std::int64_t f = std::max<std::int64_t>(0, d); f < d + 4 * ny + 40; ++f) {
        if (due(rule, f - d) + delay > (f / ny + 1) * nx - 1) return false;
      }
      return true;
    };
    EXPECT_TRUE(enough(plan->output.delay));
    if (plan->output.delay > 0) {
      EXPECT_FALSE(enough(plan->output.delay - 1));
    }
  }
}

TEST(Plan, JoinsTakeTheLaterInput) {
  const auto join = plan_join({1, 2, 3}, {1, 2, 5});
  ASSERT_TRUE(join.ok());
  EXPECT_EQ(join->delay, 5);
  const auto refused = plan_join({1, 1, 0}, {1, 2, 0});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().text(), "rates differ: 1/1 and 1/2 frames per source frame");
}

TEST(Plan, QuantitiesThatDoNotFitAreRefused) {
  EXPECT_FALSE(plan_node(window(1 << 30, 1, 0, 0, 4), {1, 1, 0}).ok());
  EXPECT_FALSE(plan_node({.kind = Kind::upsample, .kernel = 2, .stride = 1 << 20}, {1 << 20, 1, 0}).ok());
}

TEST(Plan, CallsOfAFlush) {
  EXPECT_EQ(calls_for_output({1, 1, 0}, 10, 4), 3);
  EXPECT_EQ(calls_for_output({1, 1, 3}, 10, 4), 4);
  EXPECT_EQ(calls_for_output({1, 2, 3}, 5, 4), 4);
  EXPECT_EQ(calls_for_output({1, 2, 3}, 0, 4), 0);
}

}  // namespace
}  // namespace runnel::streaming
