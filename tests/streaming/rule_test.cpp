#include "streaming/rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/checked.h"

namespace runnel::streaming {
namespace {

NodeRule random_rule(std::mt19937& random) {
  const auto uniform = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  NodeRule rule;
  rule.kind = uniform(0, 3) == 0 ? Kind::upsample : Kind::window;
  rule.kernel = uniform(1, 6);
  rule.stride = uniform(1, 4);
  rule.dilation = uniform(1, 3);
  if (rule.kind == Kind::window) {
    rule.left = uniform(-3, static_cast<int>(rule.extent()) - 1);
    rule.right = uniform(-3, static_cast<int>(rule.extent()) - 1);
  } else {
    rule.left = uniform(0, 3);
    rule.right = uniform(0, 3);
  }
  return rule;
}

// Input frames that output j reads, whether they exist or not, from the definition of the operator.
std::vector<std::int64_t> taps(const NodeRule& rule, std::int64_t j) {
  std::vector<std::int64_t> list;
  if (rule.kind == Kind::window) {
    for (std::int64_t k = 0; k < rule.kernel; ++k)
      list.push_back(j * rule.stride - rule.left + k * rule.dilation);
  } else {
    for (std::int64_t k = 0; k < rule.kernel; ++k) {
      const std::int64_t position = j + rule.left - k * rule.dilation;
      if (position >= 0 && position % rule.stride == 0) list.push_back(position / rule.stride);
    }
  }
  return list;
}

TEST(Rule, WindowLengthsAreTheTextbookFormula) {
  NodeRule framing{.kind = Kind::window, .kernel = 400, .stride = 160};
  EXPECT_EQ(output_length(framing, 399), 0);
  EXPECT_EQ(output_length(framing, 400), 1);
  EXPECT_EQ(output_length(framing, 16000), 98);
  NodeRule same{.kind = Kind::window, .kernel = 3, .stride = 1, .dilation = 2, .left = 2, .right = 2};
  for (std::int64_t length = 1; length < 30; ++length) EXPECT_EQ(output_length(same, length), length);
  EXPECT_EQ(output_length(same, 0), 0);
}

TEST(Rule, DueIsWhenEverythingThatIsReadHasArrivedAndTheFrameIsCertain) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const NodeRule rule = random_rule(random);
    for (std::int64_t j = 0; j < 12; ++j) {
      const std::int64_t when = due(rule, j);
      EXPECT_GE(when, 0);
      for (const std::int64_t i : taps(rule, j)) EXPECT_LE(i, when);
      // With `when` as the newest frame, the recording has at least when + 1 frames: output j must exist for
      // all such lengths.
      for (std::int64_t more = 1; more < 8; ++more) EXPECT_GT(output_length(rule, when + more), j);
    }
  }
}

TEST(Rule, OldestIsNeverNewerThanWhatIsStillRead) {
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    const NodeRule rule = random_rule(random);
    for (std::int64_t j = 0; j < 8; ++j) {
      for (std::int64_t later = j; later < j + 8; ++later) {
        for (const std::int64_t i : taps(rule, later)) EXPECT_GE(i, oldest(rule, j));
      }
    }
  }
}

}  // namespace
}  // namespace runnel::streaming
