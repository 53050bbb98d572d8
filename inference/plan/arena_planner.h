// Where pieces of memory go: offsets by size and lifetime, so that pieces that are never alive together share
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace runnel {

// Memory comes in two kinds on many devices: little that is fast (on the chip), and much that is slow.
enum class Tier : std::uint8_t { fast, slow };

// One piece of memory, alive from step `first` to step `last` (both included).
struct ArenaItem {
  std::size_t bytes = 0;
  std::int32_t first = 0, last = -1;  // last < first: never alive
  std::size_t offset = 0;             // the result, in the arena of its tier
  Tier tier = Tier::fast;
  std::size_t trial = 0;  // working memory of the planner

  [[nodiscard]] bool alive() const noexcept { return first <= last && bytes > 0; }
};

// Indices that the functions below need beside the items: per item this many.
inline constexpr std::size_t kArenaWork = 2;

// Sets the offsets of the items of `tier`, multiples of `alignment`; returns the bytes needed. Items that are
// alive together do not overlap. Items are placed in order into the gaps that those before them
// left. Several orders are tried, largest first to begin with; then whichever item did not fit below the best
// arena so far moves forward in the order, again and again, until the lower bound is reached or the effort is
// spent. Deterministic: the same items give the same offsets on every machine.
// The sum of all bytes must be less than half of what std::size_t holds. Time grows with the square of the
// number of items, but is limited: from about eight thousand on, the smallest items are no longer fitted into
// gaps.
std::size_t plan_arena(std::span<ArenaItem> items, std::size_t alignment, std::span<std::int32_t> work,
                       Tier tier = Tier::fast) noexcept;

// The largest sum of bytes (rounded up to the alignment) that are alive together: no plan can need less.
std::size_t arena_lower_bound(std::span<const ArenaItem> items, std::size_t alignment,
                              std::span<std::int32_t> work, Tier tier = Tier::fast) noexcept;

// Chooses the items that go to the fast tier, whose arena must not exceed `limit`, and plans both arenas.
// `traffic`: bytes that are moved to and from each item. Rule: items are taken in the order of traffic per
// byte and step that they occupy, highest first, where they fit; then in the order of size, smallest first;
// then of traffic, largest first. The order with the most traffic in fast memory wins; its arena is planned
// again, and what was left out is tried once more.
struct TwoArenas {
  std::size_t fast = 0, slow = 0;  // bytes
};
TwoArenas plan_two_arenas(std::span<ArenaItem> items, std::span<const float> traffic, std::size_t limit,
                          std::size_t alignment, std::span<std::int32_t> work) noexcept;

}  // namespace runnel
