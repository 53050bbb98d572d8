#include "base/host/heap_memory.h"

namespace runnel {

void* HeapMemory::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t start = (used_ + alignment - 1) & ~(alignment - 1);
  if (start > limit_ || bytes > limit_ - start) return nullptr;
  // Vector kernels may read (never write) past the end of their buffers.
  constexpr std::size_t kPastEnd = 64;
  if (bytes > static_cast<std::size_t>(-1) - kPastEnd) return nullptr;
  auto* block =
      static_cast<std::byte*>(::operator new[](bytes + kPastEnd, std::align_val_t{64}, std::nothrow));
  if (block == nullptr) return nullptr;
  try {
    blocks_.emplace_back(block);
  } catch (...) {
    ::operator delete[](block, std::align_val_t{64});
    return nullptr;
  }
  used_ = start + bytes;
  return block;
}

}  // namespace runnel
