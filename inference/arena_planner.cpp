#include "inference/arena_planner.h"

#include <algorithm>

#include "base/checked.h"

namespace runnel {
namespace {

bool alive(const ArenaItem& item) noexcept { return item.first <= item.last && item.bytes > 0; }
bool together(const ArenaItem& a, const ArenaItem& b) noexcept { return a.first <= b.last && b.first <= a.last; }

}  // namespace

std::size_t plan_arena(std::span<ArenaItem> items, std::size_t alignment) noexcept {
  // `order` holds two lists in turn: the items by size, then (for those placed) the items by offset.
  const auto count = static_cast<std::int32_t>(items.size());
  for (std::int32_t i = 0; i < count; ++i) items[static_cast<std::size_t>(i)].order = i;
  const auto item = [&](std::int32_t position) -> ArenaItem& { return items[static_cast<std::size_t>(items[static_cast<std::size_t>(position)].order)]; };
  // Insertion sort: a few hundred items at most on devices, and no memory.
  for (std::int32_t i = 1; i < count; ++i) {
    const std::int32_t moving = items[static_cast<std::size_t>(i)].order;
    const std::size_t bytes = items[static_cast<std::size_t>(moving)].bytes;
    std::int32_t j = i;
    for (; j > 0 && item(j - 1).bytes < bytes; --j) items[static_cast<std::size_t>(j)].order = items[static_cast<std::size_t>(j - 1)].order;
    items[static_cast<std::size_t>(j)].order = moving;
  }
  std::size_t total = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    ArenaItem& placing = item(i);
    if (!alive(placing)) continue;
    const std::size_t need = align_up(placing.bytes, alignment);
    // Walk the placed neighbours in order of offset; positions [0, i) are kept sorted by offset.
    std::size_t best = static_cast<std::size_t>(-1), best_gap = static_cast<std::size_t>(-1), end = 0;
    for (std::int32_t k = 0; k < i; ++k) {
      const ArenaItem& placed = item(k);
      if (!alive(placed) || !together(placed, placing)) continue;
      if (placed.offset > end && placed.offset - end >= need && placed.offset - end < best_gap) {
        best = end;
        best_gap = placed.offset - end;
      }
      end = std::max(end, placed.offset + align_up(placed.bytes, alignment));
    }
    placing.offset = best != static_cast<std::size_t>(-1) ? best : end;
    total = std::max(total, placing.offset + need);
    // Keep the placed ones sorted by offset.
    const std::int32_t moving = items[static_cast<std::size_t>(i)].order;
    std::int32_t j = i;
    for (; j > 0 && item(j - 1).offset > placing.offset; --j) items[static_cast<std::size_t>(j)].order = items[static_cast<std::size_t>(j - 1)].order;
    items[static_cast<std::size_t>(j)].order = moving;
  }
  return total;
}

std::size_t arena_lower_bound(std::span<const ArenaItem> items, std::size_t alignment) noexcept {
  std::size_t bound = 0;
  for (const ArenaItem& at : items) {
    if (!alive(at)) continue;
    std::size_t sum = 0;
    for (const ArenaItem& other : items) {
      if (alive(other) && other.first <= at.first && at.first <= other.last) sum += align_up(other.bytes, alignment);
    }
    bound = std::max(bound, sum);
  }
  return bound;
}

}  // namespace runnel
