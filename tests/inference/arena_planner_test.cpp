#include "inference/arena_planner.h"

#include <gtest/gtest.h>

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
      if (!together || items[k].last < items[k].first || items[k].bytes == 0) continue;
      const bool apart = items[i].offset + items[i].bytes <= items[k].offset || items[k].offset + items[k].bytes <= items[i].offset;
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

TEST(ArenaPlanner, RandomItemsDoNotOverlapAndStayNearTheBound) {
  std::mt19937 random(3);
  double worst = 1;
  for (int round = 0; round < 300; ++round) {
    std::vector<ArenaItem> items(1 + random() % 60);
    for (ArenaItem& item : items) {
      item.bytes = 1 + random() % 5000;
      item.first = static_cast<std::int32_t>(random() % 40);
      item.last = item.first + static_cast<std::int32_t>(random() % 6);
    }
    const auto [total, bound] = plan(items, 16);
    expect_valid(items, total, 16);
    EXPECT_GE(total, bound);
    worst = std::max(worst, static_cast<double>(total) / static_cast<double>(bound));
  }
  EXPECT_LT(worst, 1.5);
}

}  // namespace
}  // namespace runnel
