#include "inference/plan/memory_plan.h"

#include <algorithm>

namespace runnel {
namespace {

bool in_arena(const Placement& place) noexcept { return !place.constant && place.capacity == 0; }

// Operator i also computes the operator after it.
bool is_absorbing(std::span<const std::int32_t> absorbed_by, int i) noexcept {
  const auto next = static_cast<std::size_t>(i) + 1;
  return next < absorbed_by.size() && absorbed_by[next] == i;
}

bool same_numbers(const TensorView& a, const TensorView& b) noexcept {
  return a.dtype == b.dtype && a.exponent() == b.exponent() && a.zero_point() == b.zero_point() &&
         std::equal(a.scales.begin(), a.scales.end(), b.scales.begin(), b.scales.end());
}

Status over_limit(std::uint64_t bytes, std::size_t limit) noexcept {
  return Status(Code::out_of_memory) << "the intermediate tensors would need " << bytes
                                     << " bytes, more than the limit of " << limit;
}

}  // namespace

Status MemoryPlan::allocate(const Model& model, Memory& memory) noexcept {
  model_ = &model;
  const auto tensors = static_cast<std::size_t>(model.tensor_count());
  std::size_t items = 0;
  for (int t = 0; t < model.tensor_count(); ++t) items += model.tensor(t).constant ? 0 : 1;
  items_ = {memory.array<ArenaItem>(items), items};
  traffic_ = {memory.array<float>(items), items};
  root_ = {memory.array<std::int32_t>(tensors), tensors};
  last_use_ = {memory.array<std::int32_t>(tensors), tensors};
  work_ = {memory.array<std::int32_t>(kArenaWork * items), kArenaWork * items};
  if (items_.data() != nullptr && traffic_.data() != nullptr && root_.data() != nullptr &&
      last_use_.data() != nullptr && work_.data() != nullptr)
    return {};
  return Status(Code::out_of_memory) << "preparing the model needs more memory than was given";
}

void MemoryPlan::set_lifetimes(const Request& request) noexcept {
  const int steps = model_->operator_count();
  const auto last_use = [&](std::int32_t tensor) -> std::int32_t& {
    return last_use_[static_cast<std::size_t>(tensor)];
  };
  std::fill(last_use_.begin(), last_use_.end(), -2);
  for (int i = 0; i < steps; ++i) {
    for (const std::int32_t input : *model_->op(i).inputs()) {
      // What an operator that computes a sum along reads must not be where the sum goes.
      if (input < 0) continue;
      const std::int32_t end = std::max<std::int32_t>(request.alive[static_cast<std::size_t>(i)].last,
                                                      is_absorbing(request.absorbed_by, i) ? i + 1 : i);
      last_use(input) = std::max(last_use(input), end);
    }
    for (const std::int32_t output : *model_->op(i).outputs())
      last_use(output) = request.alive[static_cast<std::size_t>(i)].last;
  }
  for (const std::int32_t input : model_->inputs())
    last_use(input) = std::max<std::int32_t>(last_use(input), 0);
  for (const std::int32_t output : model_->outputs()) last_use(output) = steps;
  if (!request.share) std::fill(last_use_.begin(), last_use_.end(), steps);
}

// The input whose memory the output of operator `step` takes over; -1: none.
std::int32_t MemoryPlan::find_place(const fb::Operator& op, int step, InPlace in_place, bool shrinking,
                                    std::span<const Placement> placements) const noexcept {
  if (in_place == InPlace::no || op.outputs()->size() != 1) return -1;
  const std::int32_t y = op.outputs()->Get(0);
  const Placement& to = placements[static_cast<std::size_t>(y)];
  if (!in_arena(to)) return -1;
  const bool by_elements = in_place == InPlace::elements;
  const flatbuffers::uoffset_t candidates =
      by_elements ? op.inputs()->size() : std::min<flatbuffers::uoffset_t>(1, op.inputs()->size());
  std::int32_t found = -1;
  for (flatbuffers::uoffset_t k = 0; k < candidates; ++k) {
    const std::int32_t x = op.inputs()->Get(k);
    if (x < 0 || !in_arena(placements[static_cast<std::size_t>(x)])) continue;
    const Placement& from = placements[static_cast<std::size_t>(x)];
    const bool smaller = to.bytes < from.bytes;
    if (to.bytes > from.bytes ||
        (smaller && (!shrinking || (!by_elements && in_place != InPlace::shrinking))))
      continue;
    const TensorView from_view = model_->tensor(x), to_view = model_->tensor(y);
    if (by_elements && from.bytes / size_of(from_view.dtype) != to.bytes / size_of(to_view.dtype)) continue;
    if (in_place == InPlace::view && same_numbers(from_view, to_view)) return x;
    const ArenaItem& root = item_of(x);
    if (root.last != step) continue;
    bool shared = false;
    if (in_place == InPlace::first || in_place == InPlace::shrinking) {
      for (flatbuffers::uoffset_t other = 1; other < op.inputs()->size(); ++other) {
        const std::int32_t tensor = op.inputs()->Get(other);
        shared = shared || (tensor >= 0 &&
                            root_[static_cast<std::size_t>(tensor)] == root_[static_cast<std::size_t>(x)]);
      }
    }
    if (!shared && (found < 0 || root.bytes < item_of(found).bytes)) found = x;
  }
  return found;
}

// What is alive when, one item for all tensors that share memory. `shrinking`: outputs may take the place of
// larger inputs. True if one did.
bool MemoryPlan::set_items(const Request& request, bool shrinking,
                           std::span<const Placement> placements) noexcept {
  const auto add = [&](std::int32_t tensor, int first) {
    const auto t = static_cast<std::size_t>(tensor);
    if (!in_arena(placements[t])) return;
    ArenaItem& item = item_of(tensor);
    item.bytes = placements[t].bytes;
    item.first = first;
    item.last = last_use_[t];
  };
  std::fill(items_.begin(), items_.end(), ArenaItem{});
  std::fill(traffic_.begin(), traffic_.end(), 0.0F);
  std::int32_t own = 0;
  for (std::size_t t = 0; t < root_.size(); ++t) root_[t] = placements[t].constant ? -1 : own++;
  const auto count = [&](std::int32_t tensor) {
    const std::int32_t root = root_[static_cast<std::size_t>(tensor)];
    if (root >= 0)
      traffic_[static_cast<std::size_t>(root)] +=
          static_cast<float>(placements[static_cast<std::size_t>(tensor)].bytes);
  };
  bool any_smaller = false;
  for (const std::int32_t input : model_->inputs()) {
    add(input, -1);
    count(input);
  }
  for (int i = 0; i < model_->operator_count(); ++i) {
    const fb::Operator& op = model_->op(i);
    for (const std::int32_t input : *op.inputs()) {
      if (input >= 0) count(input);
    }
    if (is_absorbing(request.absorbed_by, i)) continue;  // its own output exists nowhere
    for (const std::int32_t output : *op.outputs())
      add(output, request.alive[static_cast<std::size_t>(i)].first);
    const bool alone =
        request.alive[static_cast<std::size_t>(i)].first == request.alive[static_cast<std::size_t>(i)].last;
    if (request.share && alone && request.absorbed_by[static_cast<std::size_t>(i)] < 0) {
      const InPlace in_place = request.keeps_bytes[static_cast<std::size_t>(i)]
                                   ? InPlace::view
                                   : find_operator(request.table, op)->in_place;
      if (const std::int32_t x = find_place(op, i, in_place, shrinking, placements); x >= 0) {
        const auto y = static_cast<std::size_t>(op.outputs()->Get(0));
        any_smaller = any_smaller || placements[y].bytes < placements[static_cast<std::size_t>(x)].bytes;
        ArenaItem& place = item_of(op.outputs()->Get(0));
        root_[y] = root_[static_cast<std::size_t>(x)];
        item_of(x).last = std::max(item_of(x).last, place.last);
        place = {};
      }
    }
    for (const std::int32_t output : *op.outputs()) count(output);
  }
  return any_smaller;
}

Status MemoryPlan::plan(const Request& request, std::span<Placement> placements) noexcept {
  set_lifetimes(request);
  const bool choice = set_items(request, true, placements);
  // The planner adds sizes: no sum of them may overflow.
  std::uint64_t total = 0;
  for (const Placement& place : placements) {
    if (in_arena(place)) total += place.bytes + request.alignment;
  }
  if (total > static_cast<std::size_t>(-1) / 4) return over_limit(total, request.limit);
  // A small result in a large place keeps all of it: that may be a gain or a loss.
  if (choice) {
    const std::size_t with = plan_arena(items_, request.alignment, work_);
    set_items(request, false, placements);
    if (with < plan_arena(items_, request.alignment, work_)) set_items(request, true, placements);
  }
  arena_bound_ = arena_lower_bound(items_, request.alignment, work_) + request.tail;
  const std::size_t fast = request.fast_bytes > request.tail ? request.fast_bytes - request.tail : 0;
  const TwoArenas arenas = plan_two_arenas(items_, traffic_, fast, request.alignment, work_);
  for (std::size_t t = 0; t < placements.size(); ++t) {
    if (!in_arena(placements[t])) continue;
    const ArenaItem& item = item_of(static_cast<std::int32_t>(t));
    placements[t].offset = item.offset;
    placements[t].tier = item.tier;
  }
  arena_bytes_[0] = arenas.fast == 0 ? 0 : arenas.fast + request.tail;
  arena_bytes_[1] = arenas.slow == 0 ? 0 : arenas.slow + request.tail;
  if (arena_bytes_[0] + arena_bytes_[1] > request.limit)
    return over_limit(arena_bytes_[0] + arena_bytes_[1], request.limit);
  return {};
}

}  // namespace runnel
