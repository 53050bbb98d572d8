// Checked arithmetic on sizes from outside: overflow is a result, not an accident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace runnel {

// False on overflow, and `out` is unspecified then.
template <class T>
[[nodiscard]] constexpr bool checked_add(T a, T b, T& out) noexcept {
  return !__builtin_add_overflow(a, b, &out);
}
template <class T>
[[nodiscard]] constexpr bool checked_mul(T a, T b, T& out) noexcept {
  return !__builtin_mul_overflow(a, b, &out);
}

// Is [offset, offset + size) inside [0, total)?
[[nodiscard]] constexpr bool range_inside(std::uint64_t offset, std::uint64_t size,
                                          std::uint64_t total) noexcept {
  return offset <= total && size <= total - offset;
}

// Division rounded towards minus and plus infinity. b > 0.
[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b - ((a % b != 0 && a < 0) ? 1 : 0);
}
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return -floor_div(-a, b);
}

[[nodiscard]] constexpr std::size_t align_up(std::size_t value, std::size_t alignment) noexcept {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace runnel
