// Floats to integers toward zero, in loops that compilers vectorise. Included only by files compiled for one
// instruction set each; everything is in an unnamed namespace: no copy reaches other files.
#pragma once

#include <cstdint>

namespace runnel::kernels {
namespace {

// |value| < 2^22; not NaN.
[[gnu::always_inline]] inline std::int32_t truncated(float value) noexcept {
#if defined(__riscv_vector)
  // QEMU 7.2, with which these files are tested, breaks down on the instruction for it. Adding 1.5 * 2^23
  // rounds a magnitude to nearest and leaves the integer in the low bits.
  const float size = value < 0 ? -value : value, shifted = size + 12582912.0f;
  std::int32_t whole;
  __builtin_memcpy(&whole, &shifted, sizeof whole);
  whole -= 0x4b400000;
  whole -= static_cast<float>(whole) > size ? 1 : 0;
  return value < 0 ? -whole : whole;
#else
  return static_cast<std::int32_t>(value);
#endif
}

}  // namespace
}  // namespace runnel::kernels
