#include "compiler/embed/constant_pool.h"

#include <fmt/format.h>

#include <algorithm>

namespace runnel::compiler {

std::string ConstantPool::bytes(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "nullptr";
  constexpr std::size_t kAlignment = 16;
  std::size_t at = 0;
  for (; at + bytes.size() <= bytes_.size(); at += kAlignment) {
    if (std::equal(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at)))
      return fmt::format("{} + {}", array_, at);
  }
  at = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
  bytes_.resize(at);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return fmt::format("{} + {}", array_, at);
}

std::string ConstantPool::numbers(std::span<const std::int32_t> numbers) {
  if (numbers.empty()) return "nullptr";
  auto found = std::search(numbers_.begin(), numbers_.end(), numbers.begin(), numbers.end());
  const auto at = found - numbers_.begin();
  if (found == numbers_.end()) numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  return fmt::format("kNumbers + {}", at);
}

}  // namespace runnel::compiler
