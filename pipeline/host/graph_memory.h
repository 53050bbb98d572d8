// Memory of one graph of many: one piece, once it is known how much a graph of this text takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>

#include "base/host/heap_memory.h"
#include "base/memory.h"

namespace runnel::pipeline {

// Pieces of the heap that were allocated one by one have rounded sizes and lie apart: a third more memory,
// and more cache lines and pages to touch in each step. Until reserve(), and when the reserved bytes are used
// up, memory is from the heap, as in HeapMemory.
class GraphMemory final : public Memory {
 public:
  // Once, before the first allocation: takes `bytes` at once, packed_bytes() of a graph that made the same
  // allocations. Without memory for it nothing is reserved. `zeroed`: histories of models, which are
  // saved whole, then have the same bytes in every graph where nothing was written yet.
  void reserve(std::size_t bytes, bool zeroed = false) noexcept {
    if (bytes == 0) return;
    // Vector kernels may read (never write) past the end of their buffers.
    const std::size_t size = (bytes + kPastEnd + kLine - 1) / kLine * kLine;
    reserved_.reset(static_cast<std::byte*>(::operator new[](size, std::align_val_t{kLine}, std::nothrow)));
    reserved_bytes_ = reserved_ == nullptr ? 0 : bytes;
    if (zeroed && reserved_ != nullptr) std::fill_n(reserved_.get(), size, std::byte{0});
  }

  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    const std::size_t start = up(packed_, bytes < kLarge ? alignment : kLine);
    const bool fits = start <= reserved_bytes_ && bytes <= reserved_bytes_ - start;
    void* const memory = fits ? reserved_.get() + start : heap_.allocate(bytes, alignment);
    if (memory == nullptr) return nullptr;
    used_ = up(used_, alignment) + bytes;
    packed_ = start + bytes;
    return memory;
  }

  // Bytes that a FixedMemory aligned to 64 bytes would have used for the same sequence of calls.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  // Bytes to reserve for the same sequence of calls: large allocations begin at cache lines.
  [[nodiscard]] std::size_t packed_bytes() const noexcept { return packed_; }
  // The used part of the reserved memory; empty without reserve().
  [[nodiscard]] std::span<const std::byte> piece() const noexcept {
    return {reserved_.get(), std::min(packed_, reserved_bytes_)};
  }

 private:
  static constexpr std::size_t kLine = 64, kPastEnd = 64, kLarge = 256;
  static constexpr std::size_t up(std::size_t bytes, std::size_t alignment) noexcept {
    return (bytes + alignment - 1) & ~(alignment - 1);
  }
  struct Free {
    void operator()(std::byte* block) const noexcept { ::operator delete[](block, std::align_val_t{kLine}); }
  };

  std::unique_ptr<std::byte[], Free> reserved_;
  std::size_t reserved_bytes_ = 0, packed_ = 0, used_ = 0;
  HeapMemory heap_;
};

}  // namespace runnel::pipeline
