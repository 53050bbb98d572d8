// Where the intermediate tensors of a run live: who is alive when, who shares memory with whom, in which
// tier, and the offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "inference/plan/arena_planner.h"
#include "inference/prepared.h"

namespace runnel {

// Kernels with vectors may read (not use) this many bytes after their input.
inline constexpr std::size_t kReadableTail = 64;

class MemoryPlan {
 public:
  // Operators `first` to `last`, both included, that run at the same time.
  struct Span {
    std::int32_t first = 0, last = 0;
  };
  struct Request {
    OperatorTable table;
    std::span<const Span> alive;  // per operator: those that it runs together with, itself at least
    std::span<const std::int32_t>
        absorbed_by;                    // per operator: the preceding one that computes it along, or -1
    std::span<const bool> keeps_bytes;  // per operator: BoundOperator::keeps_bytes
    bool share = true;                  // false: every tensor keeps memory of its own
    std::size_t alignment = 16;
    std::size_t tail = 0;  // bytes that must be readable after the last tensor of each arena
    std::size_t fast_bytes = static_cast<std::size_t>(-1);  // of the fast arena, tail included
    std::size_t limit = static_cast<std::size_t>(-1);       // of both arenas
  };

  // Working memory for the tensors of `model` from `memory`; both are used as long as the plan.
  Status allocate(const Model& model, Memory& memory) noexcept;

  // Sets tiers and offsets of `placements`, one per tensor, that are neither constant nor a history.
  // Fails with `out_of_memory` when the arenas would need more than the limit.
  Status plan(const Request& request, std::span<Placement> placements) noexcept;

  [[nodiscard]] std::size_t arena_bytes(Tier tier) const noexcept {
    return arena_bytes_[static_cast<std::size_t>(tier)];
  }
  // What one arena for all would need at least, tail included: the largest sum of what is alive together.
  [[nodiscard]] std::size_t arena_bound() const noexcept { return arena_bound_; }

 private:
  void set_lifetimes(const Request& request) noexcept;
  bool set_items(const Request& request, bool shrinking, std::span<const Placement> placements) noexcept;
  [[nodiscard]] std::int32_t find_place(const fb::Operator& op, int step, InPlace in_place, bool shrinking,
                                        std::span<const Placement> placements) const noexcept;
  [[nodiscard]] ArenaItem& item_of(std::int32_t tensor) const noexcept {
    return items_[static_cast<std::size_t>(root_[static_cast<std::size_t>(tensor)])];
  }

  const Model* model_ = nullptr;
  std::span<ArenaItem>
      items_;  // per tensor that is no constant; empty for those that live in the item of another one
  std::span<float> traffic_;          // per item: bytes written to it and read from it
  std::span<std::int32_t> root_;      // per tensor: the item that it lives in; constants: -1
  std::span<std::int32_t> last_use_;  // per tensor: last operator that reads it
  std::span<std::int32_t> work_;      // of the planner
  std::size_t arena_bytes_[2] = {}, arena_bound_ = 0;
};

}  // namespace runnel
