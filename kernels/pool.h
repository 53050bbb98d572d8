// Average and maximum pooling, channels last as in conv.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/dtype.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::kernels {

enum class PoolOp : std::uint8_t { average, max };

struct PoolSpec {
  PoolOp op = PoolOp::average;
  DType dtype = DType::int8;  // of x and y: int8, int16 or float32
  std::int32_t in_height = 1, in_width = 1, channels = 1;
  std::int32_t out_height = 1, out_width = 1;
  std::int32_t kernel_height = 1, kernel_width = 1;
  std::int32_t stride_height = 1, stride_width = 1;
  std::int32_t dilation_height = 1, dilation_width = 1;
  std::int32_t pad_top = 0, pad_left = 0;
  int x_exponent = 0, y_exponent = 0;
  Rounding rounding = Rounding::half_up;
  // true: the divisor is always the kernel's size (ESP-DL: padding counts). false: only positions inside the
  // input count; none gives 0.
  bool count_padding = true;
  // TensorFlow Lite's average: integer division of the sum by the count, ties away from zero, or up where
  // `rounding` is half_up, its average of uint8 (exponents do not matter).
  bool integer_mean = false;
};

// The input positions that hold data: rows [first_row, last_row) and columns [first_column, last_column) of
// x; the rest is padding. Streamed runs pass the valid part of their window, others the whole input.
struct PoolRange {
  std::int32_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;
};

// average: y = saturate(round_float(float(sum) * (2^x_exponent * (1.0f / divisor) * 2^-y_exponent))), all in
// float32, which is ESP-DL's arithmetic. max: the exact maximum, moved to y's exponent by round_shift; no
// data gives the type's minimum. float32: plain sums in window order, divided once.
void pool(const PoolSpec& spec, const PoolRange& data, const void* x, void* y, Isa isa) noexcept;

// sums[k] += x[r * step + k], r < rows, k < width, of int8 or int16; the sums must stay within int32.
void add_rows(DType dtype, std::int64_t rows, std::ptrdiff_t step, std::int32_t width, const void* x,
              std::int32_t* sums, Isa isa) noexcept;

// The specification for integers: plain loops.
void pool_reference(const PoolSpec& spec, const PoolRange& data, const void* x, void* y) noexcept;

}  // namespace runnel::kernels
