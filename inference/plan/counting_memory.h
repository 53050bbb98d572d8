// Memory of another one, counted.
#pragma once

#include "base/memory.h"

namespace runnel {

// Forwards requests to another memory, and counts them.
class CountingMemory final : public Memory {
 public:
  explicit CountingMemory(Memory& memory) noexcept : memory_(memory) {}
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    bytes_ += bytes;
    return memory_.allocate(bytes, alignment);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  Memory& memory_;
  std::size_t bytes_ = 0;
};

}  // namespace runnel
