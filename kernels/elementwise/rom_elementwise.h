// Element-wise kernels for operators bound ahead of time (compiler/embed), each with the bits of the general
// form. A function per operation and type, so that a program links only those it calls.
//
// All are direct calls (DirectCall of inference/operator.h): `spec` is the structure that the comment names,
// `b` is null for operations of one operand, y may be x where both have elements of one size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/elementwise/affine.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functions.h"

namespace runnel::kernels {

// y[i] = table[x[i] + 128], int8.
struct RomTable8 {
  std::size_t count = 0;
  const void* table = nullptr;  // 256 bytes
};
void rom_table8(const void* spec, const void* x, const void* b, void* y) noexcept;

// Elementwise::lut16.
struct RomTable16 {
  std::size_t count = 0;
  const void* table = nullptr;  // int16
  std::int32_t entries = 0;
  bool linear = false;
  Rounding rounding = Rounding::half_up;
};
void rom_table16(const void* spec, const void* x, const void* b, void* y) noexcept;

// Elementwise::requantize between int8 and int16, -15 <= shift <= 30; low and high are of the result's type.
struct RomRequantize {
  std::size_t count = 0;
  int shift = 0;
  Rounding rounding = Rounding::half_up;
  std::int32_t low = -128, high = 127;
};
[[nodiscard]] constexpr bool rom_requantize_fits(int shift) noexcept { return shift >= -15 && shift <= 30; }
template <class X, class Y>
void rom_requantize(const void* spec, const void* x, const void* b, void* y) noexcept;

// Elementwise::requantize alone, for one type and shifts of rom_requantize(): constants of operators that
// change the exponent on the way.
extern const Elementwise kRomRequantize8, kRomRequantize16;

// Between float32 and int8 or int16 of value = integer * 2^exponent.
struct RomScale {
  std::size_t count = 0;
  int exponent = 0;
  Rounding rounding = Rounding::half_up;  // to integers
};
template <class T>
void rom_to_integers(const void* spec, const void* x, const void* b, void* y) noexcept;
template <class T>
void rom_to_floats(const void* spec, const void* x, const void* b, void* y) noexcept;

// The same for any scale and zero point.
struct RomAffineScale {
  std::size_t count = 0;
  Affine affine;
  Rounding rounding = Rounding::tflite_double;
};
void rom_affine_to_integers(const void* spec, const void* x, const void* b, void* y) noexcept;
void rom_affine_to_floats(const void* spec, const void* x, const void* b, void* y) noexcept;

// affine_unary() of one operation.
struct RomAffineUnary {
  std::size_t count = 0;
  AffineUnarySpec spec;
};
void rom_affine_unary(const void* spec, const void* x, const void* b, void* y) noexcept;
// The same of AffineUnary::requantize alone.
void rom_affine_requantize(const void* spec, const void* x, const void* b, void* y) noexcept;

// affine_pairs(); `spec` is an AffinePairSpec of this operation and type.
template <AffinePair kOp, class T>
void rom_affine_pair(const void* spec, const void* a, const void* b, void* y) noexcept;
// The same where int32 holds everything on the way, for all operands of the type.
bool affine_pair_in_32_bits(const AffinePairSpec& spec) noexcept;
template <AffinePair kOp, class T>
void rom_affine_pair32(const void* spec, const void* a, const void* b, void* y) noexcept;

// apply() of functions.h.
struct RomFunction {
  std::size_t count = 0;
  QuantizedFunction how;
};
void rom_function(const void* spec, const void* x, const void* b, void* y) noexcept;

}  // namespace runnel::kernels
