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

TEST(ArenaPlanner, ChainsNeedTwoNeighbours) {
  std::vector<ArenaItem> items;
  for (int i = 0; i < 10; ++i) items.push_back({100, i, i + 1, 0, 0});
  const std::size_t total = plan_arena(items, 4);
  EXPECT_EQ(total, 200u);
  expect_valid(items, total, 4);
}

TEST(ArenaPlanner, ItemsThatAreNeverAliveCostNothing) {
  std::vector<ArenaItem> items = {{64, 0, 3, 0, 0}, {1000, 2, -1, 0, 0}, {0, 0, 9, 0, 0}};
  EXPECT_EQ(plan_arena(items, 16), 64u);
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
    const std::size_t total = plan_arena(items, 16), bound = arena_lower_bound(items, 16);
    expect_valid(items, total, 16);
    EXPECT_GE(total, bound);
    worst = std::max(worst, static_cast<double>(total) / static_cast<double>(bound));
  }
  EXPECT_LT(worst, 1.5);
}

}  // namespace
}  // namespace runnel
