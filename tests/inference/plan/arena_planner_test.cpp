#include "inference/plan/arena_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

namespace runnel {
namespace {

void expect_valid(const std::vector<ArenaItem>& items, std::size_t total, std::size_t alignment) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].last < items[i].first || items[i].bytes == 0) continue;
    EXPECT_EQ(items[i].offset % alignment, 0u);
    EXPECT_LE(items[i].offset + items[i].bytes, total);
    for (std::size_t k = 0; k < i; ++k) {
      const bool together = items[i].first <= items[k].last && items[k].first <= items[i].last;
      if (!together || items[k].tier != items[i].tier || items[k].last < items[k].first ||
          items[k].bytes == 0)
        continue;
      const bool apart = items[i].offset + items[i].bytes <= items[k].offset ||
                         items[k].offset + items[k].bytes <= items[i].offset;
      EXPECT_TRUE(apart) << "items " << i << " and " << k << " overlap";
    }
  }
}

struct Planned {
  std::size_t bytes, bound;
};
Planned plan(std::vector<ArenaItem>& items, std::size_t alignment) {
  std::vector<std::int32_t> work(kArenaWork * items.size());
  const std::size_t bound = arena_lower_bound(items, alignment, work);
  return {plan_arena(items, alignment, work), bound};
}
ArenaItem item(std::size_t bytes, int first, int last) {
  ArenaItem out;
  out.bytes = bytes;
  out.first = first;
  out.last = last;
  return out;
}

TEST(ArenaPlanner, ChainsNeedTwoNeighbours) {
  std::vector<ArenaItem> items;
  for (int i = 0; i < 10; ++i) items.push_back(item(100, i, i + 1));
  const std::size_t total = plan(items, 4).bytes;
  EXPECT_EQ(total, 200u);
  expect_valid(items, total, 4);
}

TEST(ArenaPlanner, ItemsThatAreNeverAliveCostNothing) {
  std::vector<ArenaItem> items = {item(64, 0, 3), item(1000, 2, -1), item(0, 0, 9)};
  EXPECT_EQ(plan(items, 16).bytes, 64u);
}

std::vector<ArenaItem> random_items(std::mt19937& random, std::size_t count, std::uint32_t steps) {
  std::vector<ArenaItem> items(count);
  for (ArenaItem& at : items) {
    at.bytes = 1 + random() % 5000;
    at.first = static_cast<std::int32_t>(random() % steps);
    at.last = at.first + static_cast<std::int32_t>(random() % 6);
  }
  return items;
}

TEST(ArenaPlanner, RandomItemsDoNotOverlapAndStayNearTheBound) {
  std::mt19937 random(3);
  double worst = 1, sum = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<ArenaItem> items = random_items(random, 1 + random() % 60, 40);
    const auto [total, bound] = plan(items, 16);
    expect_valid(items, total, 16);
    EXPECT_GE(total, bound);
    const double ratio = static_cast<double>(total) / static_cast<double>(bound);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  std::printf("random items: arena / lower bound: mean %.4f, worst %.4f\n", sum / kRounds, worst);
  EXPECT_LT(sum / kRounds, 1.01);
  EXPECT_LT(worst, 1.10);
}

TEST(ArenaPlanner, SameItemsSameOffsets) {
  std::mt19937 random(4);
  std::vector<ArenaItem> first = random_items(random, 100, 60), second = first;
  plan(first, 16);
  plan(second, 16);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].offset, second[i].offset);
}

// Limits are generous: other programs run, and sanitizers are slow.
TEST(ArenaPlanner, TimeIsBounded) {
  std::mt19937 random(5);
  const auto milliseconds = [&](std::vector<ArenaItem>& items) {
    const auto start = std::chrono::steady_clock::now();
    const auto [total, bound] = plan(items, 16);
    EXPECT_GE(total, bound);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<ArenaItem> thousand = random_items(random, 1000, 700);
  const double usual = milliseconds(thousand);
  expect_valid(thousand, 1u << 30, 16);
  // All alive at once, and more than any model has.
  std::vector<ArenaItem> many(200000);
  for (ArenaItem& at : many)
    at = item(1 + random() % 5000, static_cast<int>(random() % 1000),
              100000 + static_cast<int>(random() % 1000));
  const double hostile = milliseconds(many);
  std::printf("1000 items: %.1f ms, 200000 items: %.1f ms\n", usual, hostile);
  EXPECT_LT(usual, 500);
  EXPECT_LT(hostile, 5000);
}

TEST(ArenaPlanner, FastMemoryIsUsedAndNeverExceeded) {
  std::mt19937 random(6);
  for (int round = 0; round < 60; ++round) {
    std::vector<ArenaItem> items = random_items(random, 1 + random() % 60, 40);
    std::vector<float> traffic;
    float all = 0;
    for (const ArenaItem& at : items) {
      traffic.push_back(static_cast<float>(at.bytes * (1 + random() % 4)));
      all += traffic.back();
    }
    std::vector<std::int32_t> work(kArenaWork * items.size());
    const std::size_t one = plan_arena(items, 16, work);
    float before = 0;
    for (const int eighths : {0, 1, 2, 4, 6, 8}) {
      const std::size_t limit = one * static_cast<std::size_t>(eighths) / 8;
      const TwoArenas arenas = plan_two_arenas(items, traffic, limit, 16, work);
      EXPECT_LE(arenas.fast, limit);
      float moved = 0;
      for (std::size_t i = 0; i < items.size(); ++i) {
        const ArenaItem& at = items[i];
        if (at.tier == Tier::fast) moved += traffic[i];
        EXPECT_LE(at.offset + at.bytes, at.tier == Tier::fast ? arenas.fast : arenas.slow);
      }
      expect_valid(items, std::max(arenas.fast, arenas.slow), 16);
      // More memory may be used a little worse, but not much.
      EXPECT_GE(moved, 0.9f * before);
      if (items.size() > 30 && eighths == 4) {
        EXPECT_GE(moved, 0.5f * all) << "half the memory takes less than half of the traffic";
      }
      before = moved;
    }
    EXPECT_EQ(before, all);
  }
}

}  // namespace
}  // namespace runnel
