#include "firmware/startup/stack.h"

#include <cstdint>

extern "C" {
extern std::uint32_t __bss_end[], __stack_top_word[];  // from the linker script
}

namespace runnel::firmware {
namespace {

constexpr std::uint32_t kPattern = 0xA5C35A3C;
constexpr std::size_t kMax = 64 * 1024;  // no image needs more, and painting megabytes is slow

// As integers: to the compiler these addresses belong to no object.
std::uintptr_t top() noexcept { return reinterpret_cast<std::uintptr_t>(__stack_top_word); }
std::uint32_t* lowest() noexcept {
  const auto end = reinterpret_cast<std::uintptr_t>(__bss_end);
  return reinterpret_cast<std::uint32_t*>(top() - end > kMax ? top() - kMax : end);
}

}  // namespace

[[gnu::noinline]] void paint_stack() noexcept {
  const auto* const here = static_cast<std::uint32_t*>(__builtin_frame_address(0)) - 16;
  // Volatile, because the compiler sees no reader of these words.
  for (volatile std::uint32_t* word = lowest(); word < here; ++word) *word = kPattern;
}

std::size_t stack_used() noexcept {
  const volatile std::uint32_t* word = lowest();
  while (reinterpret_cast<std::uintptr_t>(word) < top() && *word == kPattern) ++word;
  return top() - reinterpret_cast<std::uintptr_t>(word);
}

}  // namespace runnel::firmware
