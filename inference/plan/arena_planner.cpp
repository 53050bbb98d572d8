#include "inference/plan/arena_planner.h"

#include <algorithm>

#include "base/checked.h"
#include "inference/plan/arena_layout.h"

namespace runnel {
namespace {

// Comparisons of one item with another: for the first plan, which must come to an end, and for looking for
// better ones.
constexpr std::int64_t kFirstEffort = std::int64_t{1} << 25, kSearchEffort = std::int64_t{1} << 22;
// Passes in a row that start from the same order.
constexpr int kPasses = 64;

enum class Order : std::uint8_t { size, area, lifetime, forwards, backwards };

// Bytes times steps, as far as 64 bits go.
std::uint64_t area(const ArenaItem& item) noexcept {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 32;
  return std::min<std::uint64_t>(item.bytes, kMax - 1) *
         static_cast<std::uint64_t>(std::int64_t{item.last} - item.first + 1);
}

// Small, and the same everywhere.
class Random {
 public:
  std::uint32_t below(std::uint32_t count) noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_ % count;
  }

 private:
  std::uint32_t state_ = 2463534242u;
};

class Planner {
 public:
  Planner(std::span<ArenaItem> items, std::size_t alignment, std::span<std::int32_t> work, Tier tier) noexcept
      : items_(items),
        order_(work.first(items.size())),
        layout_(items, alignment, work.subspan(items.size(), items.size())) {
    std::size_t alive = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].alive() && items[i].tier == tier) order_[alive++] = static_cast<std::int32_t>(i);
    }
    order_ = order_.first(alive);
  }

  std::size_t plan(std::size_t bound) noexcept {
    sort(Order::size);
    place_all();
    keep();
    limit_ = layout_.effort() + kSearchEffort;
    for (const Order order : {Order::size, Order::area, Order::lifetime, Order::forwards, Order::backwards}) {
      for (const Fit fit : {Fit::best, Fit::lowest}) {
        sort(order);
        for (int pass = 0; pass < kPasses; ++pass) {
          if (best_ <= bound || layout_.effort() > limit_) return best_;
          const std::size_t failed = place_below_best(fit);
          if (failed == 0) break;
          if (failed == order_.size())
            keep();
          else
            promote(failed);
        }
      }
    }
    return best_;
  }

 private:
  [[nodiscard]] ArenaItem& item(std::int32_t index) const noexcept {
    return items_[static_cast<std::size_t>(index)];
  }

  void sort(Order by) noexcept {
    const auto before = [&](std::int32_t i, std::int32_t k) noexcept {
      const ArenaItem &a = item(i), &b = item(k);
      const std::int64_t a_steps = std::int64_t{a.last} - a.first, b_steps = std::int64_t{b.last} - b.first;
      if (by == Order::area && area(a) != area(b)) return area(a) > area(b);
      if (by == Order::lifetime && a_steps != b_steps) return a_steps > b_steps;
      if (by == Order::forwards && a.first != b.first) return a.first < b.first;
      if (by == Order::backwards && a.last != b.last) return a.last > b.last;
      return a.bytes != b.bytes ? a.bytes > b.bytes : i < k;
    };
    std::sort(order_.begin(), order_.end(), before);
  }

  // Gives every item a trial offset, whatever that takes.
  void place_all() noexcept {
    layout_.clear();
    for (const std::int32_t index : order_) {
      if (layout_.effort() < kFirstEffort)
        layout_.place(index, layout_.gap(item(index), Fit::best));
      else
        layout_.place_behind(index, layout_.total());
    }
  }

  // The same as long as the arena stays below the best so far. Returns the position of the item that made it
  // grow, or the number of items.
  std::size_t place_below_best(Fit fit) noexcept {
    layout_.clear();
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const ArenaItem& placing = item(order_[i]);
      const std::size_t at = layout_.gap(placing, fit);
      if (layout_.effort() > limit_ || at + layout_.need(placing) >= best_) return i;
      layout_.place(order_[i], at);
    }
    return order_.size();
  }

  // What did not fit chooses earlier the next time.
  void promote(std::size_t failed) noexcept {
    const auto to = static_cast<std::ptrdiff_t>(random_.below(static_cast<std::uint32_t>(failed))),
               from = static_cast<std::ptrdiff_t>(failed);
    std::rotate(order_.begin() + to, order_.begin() + from, order_.begin() + from + 1);
  }

  void keep() noexcept {
    best_ = layout_.total();
    for (const std::int32_t index : order_) item(index).offset = item(index).trial;
  }

  std::span<ArenaItem> items_;
  std::span<std::int32_t> order_;
  ArenaLayout layout_;
  std::size_t best_ = 0;
  std::int64_t limit_ = 0;
  Random random_;
};

}  // namespace

std::size_t plan_arena(std::span<ArenaItem> items, std::size_t alignment, std::span<std::int32_t> work,
                       Tier tier) noexcept {
  const std::size_t bound = arena_lower_bound(items, alignment, work, tier);
  return Planner(items, alignment, work, tier).plan(bound);
}

std::size_t arena_lower_bound(std::span<const ArenaItem> items, std::size_t alignment,
                              std::span<std::int32_t> work, Tier tier) noexcept {
  // Through time: what begins at a step is added, what ended before it is taken away.
  const auto item = [&](std::int32_t index) -> const ArenaItem& {
    return items[static_cast<std::size_t>(index)];
  };
  std::size_t alive = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].alive() || items[i].tier != tier) continue;
    work[alive] = work[items.size() + alive] = static_cast<std::int32_t>(i);
    ++alive;
  }
  const std::span<std::int32_t> begins = work.first(alive), ends = work.subspan(items.size(), alive);
  std::sort(begins.begin(), begins.end(),
            [&](std::int32_t a, std::int32_t b) { return item(a).first < item(b).first; });
  std::sort(ends.begin(), ends.end(),
            [&](std::int32_t a, std::int32_t b) { return item(a).last < item(b).last; });
  std::size_t sum = 0, bound = 0, ended = 0;
  for (const std::int32_t beginning : begins) {
    for (; item(ends[ended]).last < item(beginning).first; ++ended)
      sum -= align_up(item(ends[ended]).bytes, alignment);
    sum += align_up(item(beginning).bytes, alignment);
    bound = std::max(bound, sum);
  }
  return bound;
}

}  // namespace runnel
