// Rows of int8 beside floats or other rows: dot products and quantization, in vectors. Exact: the bits of the
// plain loops in hybrid.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace runnel::kernels {

// Products of two int8 are at most 2^14: this many stay within int32.
inline constexpr std::size_t kMaxInt8Dot = 131071;

struct Int8Rows {
  // Sum of a[i] * b[i]; count <= kMaxInt8Dot.
  std::int32_t (*dot)(std::size_t count, const std::int8_t* a, const std::int8_t* b) noexcept;
  // quantize_row() of hybrid.h.
  float (*quantize)(std::size_t count, const float* x, std::int8_t* q) noexcept;
};

// Null for levels without vectors of their own: the plain loops then.
const Int8Rows* int8_rows(Isa isa) noexcept;

}  // namespace runnel::kernels
