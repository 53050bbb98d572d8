// Rows of int8 beside floats or other rows: dot products and quantization, in vectors. Exact: the bits of the
// plain loops in hybrid.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "kernels/packed_bytes.h"

namespace runnel::kernels {

// Products of two int8 are at most 2^14: this many stay within int32.
inline constexpr std::size_t kMaxInt8Dot = 131071;

struct Int8Rows {
  // Sum of a[i] * b[i]; count <= kMaxInt8Dot.
  std::int32_t (*dot)(std::size_t count, const std::int8_t* a, const std::int8_t* b) noexcept;
  // quantize_row() of hybrid.h.
  float (*quantize)(std::size_t count, const float* x, std::int8_t* q) noexcept;
  void (*widen)(std::size_t count, const std::int8_t* q, float* to) noexcept;
  // y[row][c] = y * (scale * scales[c]) + bias[c], of integers as floats; `per_channel`: else scales[0] for
  // all. bias may be null; `relu`: negative results become 0.
  void (*scale_back)(std::int64_t rows, std::int64_t channels, float scale, const float* scales,
                     bool per_channel, const float* bias, bool relu, float* y) noexcept;
  // sums[row] = sum of x[column] * weight, for all rows() of `rows`; x: input_bytes().
  void (*products)(const PackedBytes& rows, const std::int8_t* x, std::int32_t* sums) noexcept;
};

// Null for levels without vectors of their own: the plain loops then.
const Int8Rows* int8_rows(Isa isa) noexcept;

}  // namespace runnel::kernels
