// Affine arithmetic: integers with any scale and zero point, value = (integer - zero_point) * scale, exactly
// as TensorFlow Lite (Micro)'s reference kernels: multipliers of 31 bits, rounded twice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/dtype.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::kernels {

// A positive real number as multiplier * 2^(-31 - shift), 2^30 <= multiplier < 2^31; numbers below
// 2^-32 become 0.
struct Multiplier {
  std::int32_t value = 0;
  std::int32_t shift = 0;  // to the right; negative: to the left

  [[nodiscard]] std::int64_t operator()(std::int64_t x) const noexcept {
    return multiply_shift(x, value, shift, Rounding::tflite_double);
  }
};
// For any real >= 0; 2^31 and more saturates.
Multiplier multiplier_of(double real) noexcept;

// The same with 15 bits and one rounding, for scaling 64-bit accumulators (Rounding::single).
std::int32_t reduced(std::int32_t multiplier) noexcept;

// round(value / scale) + zero_point, ties away from zero (half_even: to even), not limited to a type.
std::int64_t to_integer(float value, float scale, std::int32_t zero_point,
                        Rounding rounding = Rounding::tflite_double) noexcept;

// Quantization of one operand or result.
struct Affine {
  DType dtype = DType::int8;
  float scale = 1;
  std::int32_t zero_point = 0;
};
// Limits of an integer type (int8, uint8, int16, int32).
std::int32_t lowest(DType type) noexcept;
std::int32_t highest(DType type) noexcept;
std::int32_t load(DType type, const void* x, std::size_t i) noexcept;
void store(DType type, void* y, std::size_t i, std::int64_t value) noexcept;

// ---- two operands; element i of y uses a[i % a_count] and b[i % b_count]
enum class AffinePair : std::uint8_t {
  add,
  sub,
  mul,
  max,  // max and min: a, b and y of one scale and zero point
  min,
  squared_difference,
  prelu,  // a where a >= 0, else a * b
};
struct AffinePairSpec {
  AffinePair op = AffinePair::add;
  DType dtype = DType::int8;  // of a, b and y: int8 or int16
  std::size_t count = 0, a_count = 0, b_count = 0;
  std::int32_t a_zero = 0, b_zero = 0, y_zero = 0;
  int left_shift = 0;  // add, sub, squared_difference: room for precision
  Multiplier a, b, y;  // mul: y only; prelu: a for a >= 0, y for products
  std::int32_t low = -128, high = 127;
};
// Sets zero points, shifts and multipliers; the caller sets `low` and `high`.
void set_scales(AffinePairSpec& spec, const Affine& a, const Affine& b, const Affine& y) noexcept;
// The specification.
void affine_pairs(const AffinePairSpec& spec, const void* a, const void* b, void* y) noexcept;
using AffinePairs = void (*)(const AffinePairSpec& spec, const void* a, const void* b, void* y) noexcept;
// The fastest function of at most this level that gives the same bits for `spec`, whatever its counts.
AffinePairs affine_pairs_for(const AffinePairSpec& spec, Isa isa) noexcept;

// ---- one operand
enum class AffineUnary : std::uint8_t { requantize, relu, sigmoid, tanh, leaky_relu, hard_swish };
struct AffineUnarySpec {
  AffineUnary op = AffineUnary::requantize;
  Affine x, y;
  Multiplier multiplier, negative;                     // leaky_relu: for values below 0
  bool negate = false;                                 // leaky_relu: alpha < 0
  std::int32_t radius = 0;                             // sigmoid, tanh: from here on the result is its limit
  std::int32_t input_multiplier = 0, input_shift = 0;  // sigmoid, tanh of int16
  std::int16_t output_factor = 0, relu_factor = 0;     // hard_swish
  int output_exponent = 0, relu_exponent = 0;
  std::int32_t low = -128, high = 127;
};
// Sets the kernel's numbers from the scales; alpha: for leaky_relu. False for scales out of range.
bool set_scales(AffineUnarySpec& spec, float alpha) noexcept;
// One element, as an integer of y.
std::int32_t affine_unary(const AffineUnarySpec& spec, std::int32_t x) noexcept;
void affine_unary(const AffineUnarySpec& spec, std::size_t count, const void* x, void* y) noexcept;

// float32 to integers (ties away from zero; half_even: to even) and back.
void affine_quantize(const Affine& y, Rounding rounding, std::size_t count, const float* x,
                     void* to) noexcept;
void affine_dequantize(const Affine& x, std::size_t count, const void* from, float* y) noexcept;
struct AffineConversions {
  void (*quantize)(const Affine& y, Rounding rounding, std::size_t count, const float* x, void* to) noexcept;
  void (*dequantize)(const Affine& x, std::size_t count, const void* from, float* y) noexcept;
  Isa isa;  // reference: the two above
};
// The fastest of at most this level that give the same bits for integers of `type`.
AffineConversions affine_conversions_for(DType type, Isa isa) noexcept;

// int16 in Q3.12 (after * 3 and the shift) by a table of 256 entries; for activations and cells of recurrent
// layers. `multiplier` 0: the scale is a power of two, 2^(shift - 12).
std::int16_t sigmoid_of_int16(std::int16_t x, std::int32_t multiplier, int shift) noexcept;
std::int16_t tanh_of_int16(std::int16_t x, std::int32_t multiplier, int shift) noexcept;

}  // namespace runnel::kernels
