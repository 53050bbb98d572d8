// Integers of 64 bits as floats. A processor's conversions are of 32 bits; compilers make a library call of
// the others, which takes some 600 bytes on a microcontroller.
#pragma once

#include <bit>
#include <cstdint>

namespace runnel {

// The float next to `value`, ties to even: as static_cast<float>(value).
constexpr float float_of(std::uint64_t value) noexcept {
  const auto high = static_cast<std::uint32_t>(value >> 32);
  if (high == 0) return static_cast<float>(static_cast<std::uint32_t>(value));
  // The highest 32 bits; whether any below them is set goes into the lowest, which is far below the rounding.
  const int shift = 32 - std::countl_zero(high);
  auto top = static_cast<std::uint32_t>(value >> shift);
  if (static_cast<std::uint32_t>(value) << (32 - shift) != 0) top |= 1U;
  return static_cast<float>(top) * static_cast<float>(std::uint32_t{1} << (shift - 1)) * 2.0F;
}

constexpr float float_of(std::int64_t value) noexcept {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? -float_of(0 - bits) : float_of(bits);
}

}  // namespace runnel
