// Where the intermediate tensors of a run live: who is alive when, who shares memory with whom, and the offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "inference/arena_planner.h"
#include "inference/prepared.h"

namespace runnel {

// Of tensors in the arena and of histories in a session's state.
#ifdef __linux__
inline constexpr std::size_t kTensorAlignment = 64;
#else
inline constexpr std::size_t kTensorAlignment = 16;
#endif
// Kernels may read (not use) this many bytes behind their input.
inline constexpr std::size_t kReadableTail = 64;

class MemoryPlan {
 public:
  // Working memory for the tensors of `model` from `memory`; both are used as long as the plan.
  Status allocate(const Model& model, Memory& memory) noexcept;

  // Sets the offsets of `placements`, one per tensor, that are neither constant nor a history.
  // `absorbed_by`: per operator, the one in front that computes it along, or -1. `share` false: every tensor keeps memory of its own.
  // Fails with `out_of_memory` when the arena would need more than `limit` bytes.
  Status plan(OperatorTable table, std::span<const std::int32_t> absorbed_by, bool share, std::size_t limit, std::span<Placement> placements) noexcept;

  [[nodiscard]] std::size_t arena_bytes() const noexcept { return arena_bytes_; }

 private:
  void set_lifetimes(std::span<const std::int32_t> absorbed_by, bool share) noexcept;
  void set_items(OperatorTable table, std::span<const std::int32_t> absorbed_by, bool share, std::span<const Placement> placements) noexcept;

  const Model* model_ = nullptr;
  std::span<ArenaItem> items_;          // per tensor; empty for those that live in the item of another one
  std::span<std::int32_t> root_;        // per tensor: whose item it lives in
  std::span<std::int32_t> last_use_;    // per tensor: last operator that reads it
  std::size_t arena_bytes_ = 0;
};

}  // namespace runnel
