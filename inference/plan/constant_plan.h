// Where constants are read while a model runs: in the file, or from copies of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/memory.h"
#include "base/status.h"
#include "inference/plan/arena_planner.h"
#include "inference/prepared.h"

namespace runnel {

// Gathers who reads which constant; then copies those constants, and only those, and moves the readers'
// pointers to the copies.
class ConstantPlan {
 public:
  ConstantPlan(const Model& model, Memory& memory, bool copying) noexcept
      : model_(model), memory_(memory), copying_(copying) {}

  // Constant `tensor` is read through RunContext::data.
  void read(int tensor, std::span<Placement> placements) noexcept;
  // It is read through the pointer at `pointer`, which lies in it, or is null.
  Status read(int tensor, void* pointer, std::span<Placement> placements) noexcept;

  // Copies what is read, smallest first: to `fast` while `claim(bytes)` gives fast memory, else to the memory
  // of everything else. `order`: working memory, one entry per tensor. `tail`: bytes that must be readable
  // after each.
  template <class Claim>
  Status copy(Memory& fast, std::size_t tail, std::span<std::int64_t> order, std::span<Placement> placements,
              Claim&& claim) noexcept {
    if (!copying_) return {};
    for (const std::int64_t tensor : in_place(order, placements)) {
      Placement& place = placements[static_cast<std::size_t>(tensor)];
      place.tier = claim(place.bytes + tail);
      RUNNEL_TRY(copy_one(static_cast<int>(tensor), place, place.tier == Tier::fast ? fast : memory_, tail));
    }
    move_readers(placements);
    return {};
  }

 private:
  struct Reader {
    Reader* next = nullptr;
    void* pointer = nullptr;  // of any object type: its bytes are read and written
    std::int32_t tensor = -1;
  };

  std::span<const std::int64_t> in_place(std::span<std::int64_t> order,
                                         std::span<const Placement> placements) const noexcept;
  Status copy_one(int tensor, Placement& place, Memory& memory, std::size_t tail) const noexcept;
  void move_readers(std::span<const Placement> placements) const noexcept;

  const Model& model_;
  Memory& memory_;
  bool copying_;
  Reader* readers_ = nullptr;
};

}  // namespace runnel
