#include "base/memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "base/host/heap_memory.h"

namespace runnel {
namespace {

TEST(FixedMemory, AlignsCountsAndEnds) {
  alignas(64) std::array<std::byte, 128> bytes{};
  FixedMemory memory(bytes);
  EXPECT_NE(memory.allocate(1, 1), nullptr);
  void* aligned = memory.allocate(8, 32);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 32, 0u);
  EXPECT_EQ(memory.used(), 40u);
  EXPECT_EQ(memory.allocate(89, 1), nullptr);
  EXPECT_NE(memory.allocate(88, 1), nullptr);
  EXPECT_EQ(memory.allocate(1, 1), nullptr);
}

TEST(Memory, RefusesArraysWhoseSizeOverflows) {
  HeapMemory memory;
  EXPECT_EQ(memory.array<std::int64_t>(static_cast<std::size_t>(-1) / 4), nullptr);
  const std::int64_t* zeros = memory.array<std::int64_t>(3);
  EXPECT_EQ(zeros[0] | zeros[1] | zeros[2], 0);
}

TEST(HeapMemory, CountsLikeFixedMemoryAndKeepsItsLimit) {
  alignas(64) std::array<std::byte, 256> bytes{};
  FixedMemory fixed(bytes);
  HeapMemory heap(200);
  for (const std::size_t size : {3u, 10u, 64u, 1u, 17u}) {
    fixed.allocate(size, 16);
    heap.allocate(size, 16);
    EXPECT_EQ(heap.used(), fixed.used());
  }
  EXPECT_EQ(heap.allocate(100, 16), nullptr);
}

}  // namespace
}  // namespace runnel
