// Memory from the heap, for hosts: grows as needed and counts its allocations.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "base/memory.h"

namespace runnel {

class HeapMemory final : public Memory {
 public:
  // `limit`: allocate() fails beyond this many bytes in all (tests let each allocation fail in turn with it).
  explicit HeapMemory(std::size_t limit = static_cast<std::size_t>(-1)) noexcept : limit_(limit) {}
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override;
  // Bytes that a FixedMemory aligned to 64 bytes would have used for the same sequence of calls.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  struct Free {
    void operator()(std::byte* block) const noexcept { ::operator delete[](block, std::align_val_t{64}); }
  };
  std::vector<std::unique_ptr<std::byte[], Free>> blocks_;
  std::size_t used_ = 0;
  std::size_t limit_;
};

}  // namespace runnel
