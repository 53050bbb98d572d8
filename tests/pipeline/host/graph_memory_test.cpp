#include "pipeline/host/graph_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace runnel::pipeline {
namespace {

struct Ask {
  std::size_t bytes, alignment;
};
constexpr Ask kAsks[] = {{1, 1}, {24, 8}, {3, 1}, {300, 4}, {16, 16}, {0, 1}, {256, 64}, {255, 4}, {5, 64}};

bool aligned(const void* memory, std::size_t to) {
  return reinterpret_cast<std::uintptr_t>(memory) % to == 0;
}

// Takes all of them, writes to each and says whether none overwrote another.
bool take_all(GraphMemory& memory, std::vector<std::byte*>& taken) {
  for (const Ask& ask : kAsks) {
    auto* const bytes = static_cast<std::byte*>(memory.allocate(ask.bytes, ask.alignment));
    if (bytes == nullptr || !aligned(bytes, ask.alignment) || (ask.bytes >= 256 && !aligned(bytes, 64)))
      return false;
    std::memset(bytes, static_cast<int>(taken.size() + 1), ask.bytes);
    taken.push_back(bytes);
  }
  for (std::size_t i = 0; i < std::size(kAsks); ++i) {
    for (std::size_t k = 0; k < kAsks[i].bytes; ++k) {
      if (taken[i][k] != static_cast<std::byte>(i + 1)) return false;
    }
  }
  return true;
}

TEST(GraphMemory, ASecondGraphLiesInOnePiece) {
  GraphMemory first;
  std::vector<std::byte*> taken;
  ASSERT_TRUE(take_all(first, taken));
  EXPECT_TRUE(first.piece().empty());
  GraphMemory second;
  second.reserve(first.packed_bytes());
  taken.clear();
  ASSERT_TRUE(take_all(second, taken));
  EXPECT_EQ(second.piece().size(), first.packed_bytes());
  EXPECT_EQ(second.packed_bytes(), first.packed_bytes());
  EXPECT_EQ(second.used(), first.used());
  for (std::size_t i = 0; i < std::size(kAsks); ++i) {
    EXPECT_GE(taken[i], second.piece().data());
    EXPECT_LE(taken[i] + kAsks[i].bytes, second.piece().data() + second.piece().size());
  }
}

TEST(GraphMemory, WhatDoesNotFitIsFromTheHeap) {
  for (const std::size_t reserved : {std::size_t{1}, std::size_t{64}, std::size_t{300}, std::size_t{700}}) {
    SCOPED_TRACE(reserved);
    GraphMemory memory;
    memory.reserve(reserved);
    std::vector<std::byte*> taken;
    EXPECT_TRUE(take_all(memory, taken));
    EXPECT_EQ(memory.piece().size(), reserved);
  }
}

TEST(GraphMemory, RefusesMoreThanThereIs) {
  GraphMemory memory;
  memory.reserve(100);
  ASSERT_NE(memory.allocate(10, 1), nullptr);
  EXPECT_EQ(memory.allocate(std::numeric_limits<std::size_t>::max() - 20, 1), nullptr);
  EXPECT_EQ(memory.used(), 10U);
  EXPECT_EQ(memory.piece().size(), 10U);
}

}  // namespace
}  // namespace runnel::pipeline
