// Which items go to fast memory.
#include <algorithm>

#include "base/checked.h"
#include "inference/plan/arena_layout.h"
#include "inference/plan/arena_planner.h"

namespace runnel {
namespace {

// Comparisons of one item with another in all of this; what is left then goes to slow memory.
constexpr std::int64_t kEffort = std::int64_t{1} << 25;

enum class Preference : std::uint8_t { density, small, traffic };

class Chooser {
 public:
  Chooser(std::span<ArenaItem> items, std::span<const float> traffic, std::size_t limit,
          std::size_t alignment, std::span<std::int32_t> work) noexcept
      : items_(items),
        traffic_(traffic),
        limit_(limit),
        order_(work.first(items.size())),
        layout_(items, alignment, work.subspan(items.size(), items.size())) {}

  void choose() noexcept {
    Preference best = Preference::density;
    float most = -1;
    for (const Preference by : {Preference::density, Preference::small, Preference::traffic}) {
      if (const float moved = fill(by); moved > most) {
        most = moved;
        best = by;
      }
    }
    static_cast<void>(fill(best));
  }

  // Around the items that are in the fast tier already, at their offsets.
  void fill_up() noexcept {
    layout_.clear();
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].alive() && items_[i].tier == Tier::fast)
        layout_.place(static_cast<std::int32_t>(i), items_[i].offset);
    }
    static_cast<void>(take(Preference::density));
  }

 private:
  [[nodiscard]] const ArenaItem& item(std::int32_t index) const noexcept {
    return items_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] float moved(std::int32_t index) const noexcept {
    return traffic_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] double density(std::int32_t index) const noexcept {
    const ArenaItem& at = item(index);
    return static_cast<double>(moved(index)) /
           (static_cast<double>(at.bytes) * static_cast<double>(std::int64_t{at.last} - at.first + 1));
  }
  [[nodiscard]] bool before(Preference by, std::int32_t i, std::int32_t k) const noexcept {
    if (by == Preference::density) {
      const double a = density(i), b = density(k);
      if (a < b || b < a) return a > b;
    } else if (by == Preference::traffic) {
      if (moved(i) < moved(k) || moved(k) < moved(i)) return moved(i) > moved(k);
    }
    return item(i).bytes != item(k).bytes ? item(i).bytes < item(k).bytes : i < k;
  }

  float fill(Preference by) noexcept {
    layout_.clear();
    for (ArenaItem& at : items_) at.tier = Tier::slow;
    return take(by);
  }

  // Takes what fits of the slow items. Returns the traffic of those taken.
  float take(Preference by) noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].alive() && items_[i].tier == Tier::slow && layout_.need(items_[i]) <= limit_)
        order_[count++] = static_cast<std::int32_t>(i);
    }
    const std::span<std::int32_t> order = order_.first(count);
    std::sort(order.begin(), order.end(), [&](std::int32_t i, std::int32_t k) { return before(by, i, k); });
    float sum = 0;
    for (const std::int32_t index : order) {
      if (layout_.effort() > kEffort) break;
      const std::size_t at = layout_.gap(item(index), Fit::best);
      if (at > limit_ - layout_.need(item(index))) continue;
      layout_.place(index, at);
      items_[static_cast<std::size_t>(index)].offset = at;
      items_[static_cast<std::size_t>(index)].tier = Tier::fast;
      sum += moved(index);
    }
    return sum;
  }

  std::span<ArenaItem> items_;
  std::span<const float> traffic_;
  std::size_t limit_;
  std::span<std::int32_t> order_;
  ArenaLayout layout_;
};

}  // namespace

TwoArenas plan_two_arenas(std::span<ArenaItem> items, std::span<const float> traffic, std::size_t limit,
                          std::size_t alignment, std::span<std::int32_t> work) noexcept {
  for (ArenaItem& item : items) item.tier = Tier::fast;
  TwoArenas arenas;
  arenas.fast = plan_arena(items, alignment, work, Tier::fast);
  if (arenas.fast <= limit) return arenas;
  Chooser(items, traffic, limit, alignment, work).choose();
  if (plan_arena(items, alignment, work, Tier::fast) <= limit)
    Chooser(items, traffic, limit, alignment, work).fill_up();
  else
    Chooser(items, traffic, limit, alignment, work).choose();  // as it was, which is within the limit
  arenas.fast = 0;
  for (const ArenaItem& item : items) {
    if (item.alive() && item.tier == Tier::fast)
      arenas.fast = std::max(arenas.fast, item.offset + align_up(item.bytes, alignment));
  }
  arenas.slow = plan_arena(items, alignment, work, Tier::slow);
  return arenas;
}

}  // namespace runnel
