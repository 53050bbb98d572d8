// Sliding memory of a tensor that keeps earlier frames. The history rarely moves back to the start.
//
//     [ history | block ]  free  ...        the block starts at the cursor;
//                                           windows start up to `history` frames before it
//          [ history | block ]  free  ...   after the next block
//     [ history | block ]  ...              no room left: the history is copied to the start
//
// A producer writes its block right after the history, so joining the two copies nothing. With room for M
// blocks the history moves once in M blocks.
#pragma once

#include <cstdint>

namespace runnel::streaming {

struct Ring {
  std::int64_t history = 0;   // frames before the block
  std::int64_t frames = 0;    // per block
  std::int64_t capacity = 0;  // in all, >= history + frames

  // With slack the capacity is at most twice the history plus one block, and a step copies on average at most
  // as many frames as it writes; without slack it is minimal.
  static constexpr Ring of(std::int64_t history, std::int64_t frames, bool slack) noexcept {
    return {history, frames, history + (slack ? 1 + history / frames : 1) * frames};
  }

  // Where the first block starts.
  [[nodiscard]] constexpr std::int64_t start() const noexcept { return history; }
  // Whether next() could have returned this cursor.
  [[nodiscard]] constexpr bool valid(std::int64_t cursor) const noexcept {
    return cursor >= history && cursor <= capacity - frames;
  }

  struct Step {
    std::int64_t cursor = 0;      // of the next block
    std::int64_t move_from = -1;  // >= 0: first copy `history` frames from this position to position 0
  };
  // After a block of `before` frames at `cursor`; blocks may differ in size where the capacity is that of the
  // largest.
  [[nodiscard]] constexpr Step next(std::int64_t cursor, std::int64_t before) const noexcept {
    const std::int64_t following = cursor + before;
    if (following <= capacity - frames) return {following, -1};
    return {history, following - history};
  }
  [[nodiscard]] constexpr Step next(std::int64_t cursor) const noexcept { return next(cursor, frames); }
};

}  // namespace runnel::streaming
