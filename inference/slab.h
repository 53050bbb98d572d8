// Memory for many sessions of one prepared model, one stride apart.
#pragma once

#include <cstddef>
#include <span>

#include "base/checked.h"
#include "base/memory.h"
#include "base/status.h"
#include "inference/prepared.h"

namespace runnel {

class StateSlab {
 public:
  // Room for `count` sessions from `memory`.
  static Result<StateSlab> make(const Prepared& prepared, std::size_t count, Memory& memory) noexcept {
    StateSlab slab;
    slab.count_ = count;
    slab.stride_ = align_up(prepared.state_bytes(), 64);
    std::size_t bytes = 0;
    if (!checked_mul(slab.stride_, count, bytes))
      return Status(Code::invalid_argument) << count << " sessions do not fit into memory";
    slab.first_ = static_cast<std::byte*>(memory.allocate(bytes, 64));
    if (slab.first_ == nullptr)
      return Status(Code::out_of_memory) << count << " sessions need " << bytes << " bytes";
    return slab;
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  // Memory of session `index` < count(), for Session::make.
  [[nodiscard]] std::span<std::byte> state(std::size_t index) const noexcept {
    return {first_ + index * stride_, stride_};
  }

 private:
  std::byte* first_ = nullptr;
  std::size_t stride_ = 0, count_ = 0;
};

}  // namespace runnel
