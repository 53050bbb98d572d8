#include "pipeline/host/threads/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace runnel::pipeline::test {
namespace {

// A tree of stages; -1: the source. Nobody shares a thread.
Stages stages(std::vector<int> input, std::vector<double> cost, double hand_over = 1) {
  Stages made;
  made.with.resize(input.size());
  std::iota(made.with.begin(), made.with.end(), 0);
  made.hand_over.assign(input.size(), hand_over);
  made.input = std::move(input);
  made.cost = std::move(cost);
  return made;
}

// The busiest thread, computed anew.
double slowest(const Stages& stages, const std::vector<int>& thread) {
  std::vector<double> load(32, 0);
  for (std::size_t i = 0; i < thread.size(); ++i) {
    load[static_cast<std::size_t>(thread[i])] += stages.cost[i];
    if (i == 0) continue;
    const auto input = static_cast<std::size_t>(stages.input[i]);
    if (thread[input] == thread[i]) continue;
    bool first = true;
    for (std::size_t k = 1; k < i; ++k)
      first = first && !(stages.input[k] == stages.input[i] && thread[k] == thread[i]);
    if (!first) continue;
    load[static_cast<std::size_t>(thread[input])] += stages.hand_over[input];
    load[static_cast<std::size_t>(thread[i])] += stages.hand_over[input];
  }
  return *std::max_element(load.begin(), load.end());
}

TEST(Placement, TwoEqualBranchesTakeTwoThreads) {
  const Placement placement = place(stages({-1, 0, 1, 0, 3}, {10, 500, 10, 500, 10}), 2);
  EXPECT_EQ(placement.threads, 2);
  EXPECT_NE(placement.thread[1], placement.thread[3]);
  EXPECT_EQ(placement.thread[1], placement.thread[2]);
  EXPECT_EQ(placement.thread[3], placement.thread[4]);
  EXPECT_GT(placement.gain(), 1.9);
}

TEST(Placement, AChainIsCutWhereItIsEven) {
  const Placement placement = place(stages({-1, 0, 1, 2}, {100, 300, 350, 50}), 2);
  EXPECT_EQ(placement.thread, (std::vector<int>{0, 0, 1, 1}));
}

TEST(Placement, SmallBranchesShareAThread) {
  const Placement placement = place(stages({-1, 0, 0, 0, 0}, {4, 100, 100, 100, 100}), 2);
  EXPECT_EQ(std::count(placement.thread.begin() + 1, placement.thread.end(), 1), 2);
  EXPECT_EQ(placement.threads, 2);
}

TEST(Placement, OneThreadWhereHandingOverCostsMore) {
  for (const int threads : {1, 2, 32}) {
    const Placement placement = place(stages({-1, 0, 0}, {1, 10, 10}, 100), threads);
    EXPECT_EQ(placement.threads, 1);
    EXPECT_EQ(placement.gain(), 1);
    EXPECT_EQ(placement.thread, (std::vector<int>{0, 0, 0}));
  }
  EXPECT_EQ(place(stages({-1, 0, 0}, {1, 100, 100}), 1).threads, 1);
}

TEST(Placement, WhatSharesAThreadStaysTogether) {
  Stages both = stages({-1, 0, 1, 2}, {1, 100, 100, 100});
  both.with = {0, 1, 1, 1};
  for (const int threads : {2, 3, 4}) {
    const Placement placement = place(both, threads);
    EXPECT_EQ(placement.thread[1], placement.thread[2]);
    EXPECT_EQ(placement.thread[1], placement.thread[3]);
  }
}

// Against all assignments, for small trees.
TEST(Placement, IsTheBestOfAll) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = 2 + random() % 6;
    std::vector<int> input = {-1};
    std::vector<double> cost = {static_cast<double>(random() % 50)};
    for (std::size_t i = 1; i < count; ++i) {
      input.push_back(static_cast<int>(random() % i));
      cost.push_back(static_cast<double>(20 + random() % 200));
    }
    const Stages tree = stages(input, cost, static_cast<double>(random() % 30));
    const int threads = 2 + static_cast<int>(random() % 2);
    const Placement found = place(tree, threads);
    ASSERT_TRUE(is_possible(tree, found.thread, threads));
    EXPECT_NEAR(slowest(tree, found.thread), found.slowest, 1e-9);
    double best = found.one;
    std::vector<int> thread(count, 0);
    for (;;) {
      if (is_possible(tree, thread, threads)) best = std::min(best, slowest(tree, thread));
      std::size_t at = 1;
      while (at < count && ++thread[at] == threads) thread[at++] = 0;
      if (at == count) break;
    }
    EXPECT_LE(found.slowest, best / 0.98 + 1e-9);
  }
}

TEST(Placement, EndsSoonForLargeGraphs) {
  for (const std::size_t count : {std::size_t{100}, std::size_t{400}, std::size_t{5000}}) {
    std::vector<int> input = {-1};
    for (std::size_t i = 1; i < count; ++i) input.push_back(static_cast<int>((i - 1) / 3));
    const Stages tree = stages(input, std::vector<double>(count, 100));
    const Placement found = place(tree, 8);
    EXPECT_TRUE(is_possible(tree, found.thread, 8));
    EXPECT_EQ(found.threads > 1, count <= 500);
  }
}

TEST(Placement, RefusesThreadsThatWaitForEachOther) {
  const Stages chain = stages({-1, 0, 1, 0, 3}, {1, 1, 1, 1, 1});
  EXPECT_TRUE(is_possible(chain, {0, 1, 2, 0, 1}, 3));
  EXPECT_FALSE(is_possible(chain, {0, 1, 0, 0, 0}, 3)) << "back to the source's thread";
  EXPECT_FALSE(is_possible(chain, {0, 1, 2, 2, 1}, 3)) << "1 leads to 2 and 2 to 1";
  EXPECT_FALSE(is_possible(chain, {1, 1, 1, 1, 1}, 3));
  EXPECT_FALSE(is_possible(chain, {0, 0, 0, 0, 3}, 3));
  EXPECT_FALSE(is_possible(chain, {0, 0, 0, 0, -1}, 3));
  EXPECT_FALSE(is_possible(chain, {0, 0, 0, 0}, 3));
  EXPECT_FALSE(is_possible(chain, {}, 3));
}

}  // namespace
}  // namespace runnel::pipeline::test
