#include "base/memory.h"

#include <cstdint>

namespace runnel {

void* FixedMemory::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const auto base = reinterpret_cast<std::uintptr_t>(bytes_.data());
  const std::uintptr_t start = (base + used_ + alignment - 1) & ~(static_cast<std::uintptr_t>(alignment) - 1);
  const std::size_t offset = start - base;
  if (offset > bytes_.size() || bytes > bytes_.size() - offset) return nullptr;
  used_ = offset + bytes;
  return bytes_.data() + offset;
}

}  // namespace runnel
