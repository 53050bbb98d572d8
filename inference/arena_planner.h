// Where intermediate tensors live: offsets by size and lifetime, so that tensors that are never alive together share memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace runnel {

// One piece of memory, alive from step `first` to step `last` (both included).
struct ArenaItem {
  std::size_t bytes = 0;
  std::int32_t first = 0, last = -1;     // last < first: never alive
  std::int32_t order = 0;                // working memory of the planner
  std::size_t offset = 0;                // the result
};

// Sets the offsets, multiples of `alignment`; returns the bytes needed. Items that are alive together do not overlap.
// Greedy by size, best fit: each item, largest first, goes to the smallest gap between those placed before it.
std::size_t plan_arena(std::span<ArenaItem> items, std::size_t alignment) noexcept;

// The largest sum of bytes (rounded up to the alignment) that are alive together: no plan can need less.
std::size_t arena_lower_bound(std::span<const ArenaItem> items, std::size_t alignment) noexcept;

}  // namespace runnel
