// Products of rows with a constant float32 matrix: y[r][n] = sum over k of x[r][k] * w[k][n], plus bias[n].
// Convolutions, dense layers and the gates of recurrent layers use it.
//
// The order of summation depends on the matrix alone, so neither the number of rows nor the machine changes a
// bit: the inner dimension is cut into float_segments() contiguous segments of equal length (the last one
// takes the rest). Each segment is summed from 0 in the order of k with fused multiply-adds; the segments are
// added in order, then the bias. Narrow matrices have several segments because a single chain of dependent
// sums would wait at every step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"

namespace runnel::kernels {

struct FloatMatrix {
  std::int32_t inner = 0, columns = 0;
  std::int32_t segments = 1;
  // Consecutive panels of neighbouring columns, each [inner][columns of the panel]; zeros pad columns to
  // whole vectors. Their width depends on the instruction set that the matrix was packed for.
  const float* packed = nullptr;
  const float* bias = nullptr;  // [columns], padded to whole vectors
};

// Pieces of the sum; a power of two.
constexpr std::int32_t float_segments(std::int32_t inner, std::int32_t columns) noexcept {
  std::int32_t segments = columns >= 64 ? 1 : columns >= 32 ? 4 : 8;
  while (segments > 1 && inner / segments < 8) segments /= 2;
  return segments;
}

// Packs w[n * row_step + k * column_step] for `isa`; `bias` may be null. Errors: invalid_argument for
// non-finite numbers (0 * inf is not 0), naming `what`; out_of_memory.
struct FloatMatrixSource {
  const float* weights = nullptr;
  std::ptrdiff_t row_step = 0, column_step = 1;
  const float* bias = nullptr;
};
Status pack_float_matrix(const FloatMatrixSource& source, std::int32_t inner, std::int32_t columns, Isa isa,
                         Memory& memory, FloatMatrix& matrix) noexcept;

// The specification of one result: sum over k of x[k] * w[k * step] in `segments` pieces, without the bias.
float float_dot_reference(std::int32_t inner, std::int32_t segments, const float* x, const float* w,
                          std::ptrdiff_t step) noexcept;

}  // namespace runnel::kernels
