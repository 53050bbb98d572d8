// Softmax along rows of integers in fixed point, bit for bit as TensorFlow Lite (Micro)'s reference kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/elementwise/affine.h"

namespace runnel::kernels {

// int8 to int8 (scale 1/256, zero point -128) or int16 (scale 1/65536, zero point -32768); int16 to int16
// (scale 1/32768, zero point 0).
struct AffineSoftmaxSpec {
  DType from = DType::int8, to = DType::int8;
  std::size_t rows = 0, count = 0;
  Multiplier multiplier;
  std::int32_t least_difference = 0;           // int8: values further below the largest become 0
  const std::int32_t* exponentials = nullptr;  // int8: fill_exponentials(); null: computed as they are needed
};
inline constexpr int kExponentials = 256;
// For int8, after set_scales(): the exponential of every difference from the largest value, a table of
// kExponentials.
void fill_exponentials(const AffineSoftmaxSpec& spec, std::int32_t* table) noexcept;
// Sets the multiplier from the input's scale and beta, the factor of the differences. The caller sets types,
// rows and count.
void set_scales(AffineSoftmaxSpec& spec, float x_scale, float beta) noexcept;
void affine_softmax(const AffineSoftmaxSpec& spec, const void* x, void* y) noexcept;
// Of inputs of one type, without a table of exponentials; a direct call
// (kernels/elementwise/rom_elementwise.h) of programs whose operators are bound ahead of time: `spec` is an
// AffineSoftmaxSpec.
template <class X>
void rom_affine_softmax(const void* spec, const void* x, const void* b, void* y) noexcept;

// The int16 tables: e^x over [-10, 0] and 1 / (1 + x) over [0, 1] in units of 1/32768, 513 entries each,
// linear in between. `value` spans the range as -32768 to 32767.
std::int16_t exp_from_table(std::int16_t value) noexcept;
std::int16_t one_over_one_plus_from_table(std::int16_t value) noexcept;
// In the same form, not TensorFlow Lite's: 1 / sqrt(x) of x = (value + 32768) / 16384 from 1 to below 4.
std::int16_t one_over_root_from_table(std::int16_t value) noexcept;

}  // namespace runnel::kernels
