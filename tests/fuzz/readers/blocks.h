// Memory for device libraries in blocks of their own, so that AddressSanitizer sees what goes beyond one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "base/memory.h"

namespace runnel::fuzz {

class Blocks final : public Memory {
 public:
  explicit Blocks(std::size_t most) : left_(most) {}
  void* allocate(std::size_t bytes, std::size_t) noexcept override {
    if (bytes > left_) return nullptr;
    left_ -= bytes;
    blocks_.emplace_back(
        static_cast<std::byte*>(::operator new[](std::max<std::size_t>(bytes, 1), std::align_val_t{64})));
    return blocks_.back().get();
  }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
  };
  std::size_t left_;
  std::vector<std::unique_ptr<std::byte[], Free>> blocks_;
};

inline constexpr std::size_t kMost = std::size_t{64} << 20;

// At a multiple of 64, as models lie in flash.
inline std::span<std::byte> copied(Blocks& memory, std::span<const std::byte> bytes) {
  auto* const to = static_cast<std::byte*>(memory.allocate(bytes.size(), 64));
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return {to, bytes.size()};
}

}  // namespace runnel::fuzz
