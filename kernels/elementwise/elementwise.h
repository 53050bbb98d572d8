// Element-wise operations on integers. y may be the same memory as an input of the same element size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/dtype.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::kernels {

enum class BinaryOp : std::uint8_t { add, sub, mul, max, min, prelu };

// One operand may be repeated: element i of y uses a[i % a_count] and b[i % b_count] (count of y:
// `count`). This covers equal shapes, a scalar, and a row of channels over many frames; callers
// expand other broadcasts.
struct BinarySpec {
  BinaryOp op = BinaryOp::add;
  DType dtype = DType::int8;  // of a, b and y: int8 or int16
  std::size_t count = 0, a_count = 0, b_count = 0;
  int a_exponent = 0, b_exponent = 0, y_exponent = 0;  // value = integer * 2^exponent
  Rounding rounding = Rounding::half_up;
  // false (ESP-DL): add, sub, max, min first round each operand to y's exponent, then combine and saturate;
  // mul goes through float32: round(float(a*b) * 2^(ea + eb - ey)). true (Arithmetic::exact): the exact
  // result, rounded once (a's and b's exponents may differ by 45 at most). prelu is always exact: a where
  // a >= 0, else a * b, rounded once.
  bool exact = false;
  std::int32_t low = -128, high = 127;  // clamp of the result (activation and type range in one)
};

// The kernels of one instruction level, from elementwise(isa); all levels give the same bits.
struct Elementwise {
  void (*binary)(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept;
  // y[i] = clamp(round(x[i] * 2^-shift)), shift = y_exponent - x_exponent; int8, int16, int32; exact.
  void (*requantize)(DType from, DType to, std::size_t count, const void* x, void* y, int shift,
                     Rounding rounding, std::int32_t low, std::int32_t high) noexcept;
  // y[i] = table[x[i] + 128].
  void (*lut8)(std::size_t count, const std::int8_t* x, std::int8_t* y, const std::int8_t* table) noexcept;
  // 16-bit tables: `entries` = 2^k + 1 values over [-32768, 32768]. nearest: the closest entry (ties: half_up
  // up, half_even to the even entry); linear: interpolated, rounded once.
  void (*lut16)(std::size_t count, const std::int16_t* x, std::int16_t* y, const std::int16_t* table,
                std::int32_t entries, bool linear, Rounding rounding) noexcept;
  // y[i] = clamp(round_float(x[i] * 2^-exponent)); y is int8 or int16. NaN gives 0.
  void (*quantize)(DType to, std::size_t count, const float* x, void* y, int exponent,
                   Rounding rounding) noexcept;
  // y[i] = x[i] * 2^exponent.
  void (*dequantize)(DType from, std::size_t count, const void* x, float* y, int exponent) noexcept;
};

const Elementwise& elementwise(Isa isa) noexcept;
// What computes such a binary operation at this level.
KernelChoice kernel_choice(const BinarySpec& spec, Isa isa) noexcept;

}  // namespace runnel::kernels
