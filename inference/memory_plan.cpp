#include "inference/memory_plan.h"

#include <algorithm>

namespace runnel {
namespace {

bool in_arena(const Placement& place) noexcept { return !place.constant && place.capacity == 0; }

// Operator i computes along what stands behind it.
bool is_absorbing(std::span<const std::int32_t> absorbed_by, int i) noexcept {
  const auto behind = static_cast<std::size_t>(i) + 1;
  return behind < absorbed_by.size() && absorbed_by[behind] == i;
}

Status over_limit(std::uint64_t bytes, std::size_t limit) noexcept {
  return Status(Code::out_of_memory) << "the intermediate tensors would need " << bytes << " bytes, more than the limit of " << limit;
}

}  // namespace

Status MemoryPlan::allocate(const Model& model, Memory& memory) noexcept {
  model_ = &model;
  const auto tensors = static_cast<std::size_t>(model.tensor_count());
  items_ = {memory.array<ArenaItem>(tensors), tensors};
  root_ = {memory.array<std::int32_t>(tensors), tensors};
  last_use_ = {memory.array<std::int32_t>(tensors), tensors};
  if (items_.data() != nullptr && root_.data() != nullptr && last_use_.data() != nullptr) return {};
  return Status(Code::out_of_memory) << "preparing the model needs more memory than was given";
}

void MemoryPlan::set_lifetimes(std::span<const std::int32_t> absorbed_by, bool share) noexcept {
  const int steps = model_->operator_count();
  const auto last_use = [&](std::int32_t tensor) -> std::int32_t& { return last_use_[static_cast<std::size_t>(tensor)]; };
  std::fill(last_use_.begin(), last_use_.end(), -2);
  for (int i = 0; i < steps; ++i) {
    for (const std::int32_t input : *model_->op(i).inputs()) {
      // What an operator that computes a sum along reads must not be where the sum goes.
      if (input >= 0) last_use(input) = std::max(last_use(input), is_absorbing(absorbed_by, i) ? i + 1 : i);
    }
    for (const std::int32_t output : *model_->op(i).outputs()) last_use(output) = i;
  }
  for (const std::int32_t input : model_->inputs()) last_use(input) = std::max(last_use(input), 0);
  for (const std::int32_t output : model_->outputs()) last_use(output) = steps;
  if (!share) std::fill(last_use_.begin(), last_use_.end(), steps);
}

void MemoryPlan::set_items(OperatorTable table, std::span<const std::int32_t> absorbed_by, bool share, std::span<const Placement> placements) noexcept {
  const auto add = [&](std::int32_t tensor, int first) {
    const auto t = static_cast<std::size_t>(tensor);
    if (in_arena(placements[t])) items_[t] = {placements[t].bytes, first, last_use_[t], 0, 0};
  };
  for (std::size_t t = 0; t < items_.size(); ++t) {
    root_[t] = static_cast<std::int32_t>(t);
    items_[t] = {};
  }
  for (const std::int32_t input : model_->inputs()) add(input, -1);
  for (int i = 0; i < model_->operator_count(); ++i) {
    const fb::Operator& op = model_->op(i);
    if (is_absorbing(absorbed_by, i)) continue;     // its own output exists nowhere
    for (const std::int32_t output : *op.outputs()) add(output, i);
    const OperatorDefinition& definition = *find_operator(table, op.code(), op.version());
    if (!share || definition.alias == 0 || absorbed_by[static_cast<std::size_t>(i)] >= 0 || op.inputs()->size() == 0 || op.inputs()->Get(0) < 0) continue;
    const auto x = static_cast<std::size_t>(op.inputs()->Get(0)), y = static_cast<std::size_t>(op.outputs()->Get(0));
    if (!in_arena(placements[x]) || !in_arena(placements[y]) || placements[x].bytes != placements[y].bytes) continue;
    ArenaItem& root = items_[static_cast<std::size_t>(root_[x])];
    const TensorView from = model_->tensor(static_cast<int>(x)), to = model_->tensor(static_cast<int>(y));
    const bool same_numbers = from.dtype == to.dtype && from.exponent() == to.exponent() && from.zero_point() == to.zero_point();
    const bool view = definition.alias == 2 && same_numbers;
    if (!view && root.last != i) continue;
    root_[y] = root_[x];
    root.last = std::max(root.last, items_[y].last);
    items_[y] = {};
  }
}

Status MemoryPlan::plan(OperatorTable table, std::span<const std::int32_t> absorbed_by, bool share, std::size_t limit, std::span<Placement> placements) noexcept {
  set_lifetimes(absorbed_by, share);
  set_items(table, absorbed_by, share, placements);
  // The planner adds sizes: no sum of them may overflow.
  std::uint64_t total = 0;
  for (const ArenaItem& item : items_) total += item.bytes;
  if (total > static_cast<std::size_t>(-1) / 2) return over_limit(total, limit);
  arena_bytes_ = plan_arena(items_, kTensorAlignment);
  for (std::size_t t = 0; t < placements.size(); ++t) {
    if (in_arena(placements[t])) placements[t].offset = items_[static_cast<std::size_t>(root_[t])].offset;
  }
  arena_bytes_ += kReadableTail;
  if (arena_bytes_ > limit) return over_limit(arena_bytes_, limit);
  return {};
}

}  // namespace runnel
