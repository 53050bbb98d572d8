// Scaling and rounding of Ethos-U55 and U65.
#pragma once

#include <cstdint>

#include "npu/operation.h"

namespace runnel::npu {

__extension__ using Wide = __int128;

// Whether the product, and what rounding adds to it, fit into 64 bits.
constexpr bool is_narrow(Wide value, std::uint32_t multiplier, int shift) noexcept {
  constexpr Wide kMost = std::int64_t{1} << 31;
  return value < kMost && value > -kMost && multiplier < std::uint32_t{1} << 31 && shift < kMaxShift;
}

// value * multiplier / 2^shift, shift 0 to 63, |value| < 2^94. For shifts above 31, `tfl` rounds twice: to
// the upper word, then with ties away from zero.
constexpr Wide scale_and_round(Wide value, Scale scale, Rounding rounding) noexcept {
  if (is_narrow(value, scale.multiplier, scale.shift)) {
    // The same in 64 bits.
    const std::int64_t product = static_cast<std::int64_t>(value) * std::int64_t{scale.multiplier};
    if (scale.shift == 0) return product;
    if (rounding == Rounding::natural || (rounding == Rounding::tfl && scale.shift <= 31))
      return (product + (std::int64_t{1} << (scale.shift - 1))) >> scale.shift;
  }
  const Wide product = value * Wide{scale.multiplier};
  if (scale.shift == 0) return product;
  if (rounding == Rounding::truncate)
    return product >= 0 ? product >> scale.shift : -(-product >> scale.shift);
  if (rounding == Rounding::natural || scale.shift <= 31)
    return (product + (Wide{1} << (scale.shift - 1))) >> scale.shift;
  const Wide high = (product + (Wide{1} << 30)) >> 31;
  const int rest = scale.shift - 31;
  const Wide magnitude = ((high < 0 ? -high : high) + (Wide{1} << (rest - 1))) >> rest;
  return high < 0 ? -magnitude : magnitude;
}

// The quotient, ties away from zero; count > 0.
constexpr std::int64_t divide_half_away(std::int64_t value, std::int64_t count) noexcept {
  return value >= 0 ? (value + count / 2) / count : -((-value + count / 2) / count);
}

// Wraps to the accumulator's width, as an overflowing register does.
constexpr std::int64_t wrap(std::int64_t value, int bits) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << (64 - bits)) >> (64 - bits);
}

constexpr std::int64_t clamp_between(Wide value, std::int64_t low, std::int64_t high) noexcept {
  // Also for swapped limits.
  const Wide raised = value < low ? Wide{low} : value;
  return static_cast<std::int64_t>(raised > high ? Wide{high} : raised);
}

}  // namespace runnel::npu
