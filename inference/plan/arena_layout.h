// Items placed so far, in order of offset, and the gaps between them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/checked.h"
#include "inference/plan/arena_planner.h"

namespace runnel {

enum class Fit : std::uint8_t { best, lowest };

// Works on trial offsets. `placed` has room for the index of every item.
class ArenaLayout {
 public:
  ArenaLayout(std::span<ArenaItem> items, std::size_t alignment, std::span<std::int32_t> placed) noexcept
      : items_(items), alignment_(alignment), placed_(placed) {}

  void clear() noexcept { count_ = total_ = 0; }
  [[nodiscard]] std::size_t total() const noexcept { return total_; }
  [[nodiscard]] std::size_t need(const ArenaItem& item) const noexcept {
    return align_up(item.bytes, alignment_);
  }
  // Items looked at so far, by everything.
  [[nodiscard]] std::int64_t effort() const noexcept { return effort_; }

  // The smallest or the lowest gap that `placing` fits into, or the end of what is alive with it.
  [[nodiscard]] std::size_t gap(const ArenaItem& placing, Fit fit) noexcept {
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    const std::size_t bytes = need(placing);
    std::size_t best = kNone, best_gap = kNone, end = 0;
    effort_ += static_cast<std::int64_t>(count_) + 1;
    for (std::size_t k = 0; k < count_; ++k) {
      const ArenaItem& placed = item(placed_[k]);
      if (placed.first > placing.last || placing.first > placed.last) continue;
      if (placed.trial > end && placed.trial - end >= bytes && placed.trial - end < best_gap) {
        best = end;
        best_gap = placed.trial - end;
        if (fit == Fit::lowest) return best;
      }
      end = std::max(end, placed.trial + need(placed));
    }
    return best != kNone ? best : end;
  }
  void place(std::int32_t index, std::size_t at) noexcept {
    std::size_t k = count_++;
    for (; k > 0 && item(placed_[k - 1]).trial > at; --k) placed_[k] = placed_[k - 1];
    placed_[k] = index;
    place_behind(index, at);
  }
  // For an item at or after the end that no other one has to be fitted around.
  void place_behind(std::int32_t index, std::size_t at) noexcept {
    item(index).trial = at;
    total_ = std::max(total_, at + need(item(index)));
  }

 private:
  [[nodiscard]] ArenaItem& item(std::int32_t index) const noexcept {
    return items_[static_cast<std::size_t>(index)];
  }

  std::span<ArenaItem> items_;
  std::size_t alignment_;
  std::span<std::int32_t> placed_;
  std::size_t count_ = 0, total_ = 0;
  std::int64_t effort_ = 0;
};

}  // namespace runnel
