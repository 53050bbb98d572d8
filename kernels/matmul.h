// Products of two computed matrices: y [M, N] = a [M, K] * b [K, N].
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/arithmetic/requantize.h"
#include "kernels/elementwise/affine.h"
#include "kernels/float32/float_kernels.h"

namespace runnel::kernels {

struct MatmulSpec;
using MatmulVectors = void (*)(const MatmulSpec& spec, const void* a, const void* b, void* y,
                               void* scratch) noexcept;

struct MatmulSpec {
  DType dtype = DType::int8;                      // of a, b and y: int8, int16 or float32
  std::int32_t rows = 1, inner = 1, columns = 1;  // M, K, N
  // Integers: sums are exact (int8: inner < 2^17), then shifted by one shift, or by one per column.
  const std::int32_t* shift = nullptr;
  std::int32_t shift_count = 1;
  Rounding rounding = Rounding::half_up;
  // With `affine`: sums over differences from the zero points, times the multiplier.
  bool affine = false;
  std::int32_t a_zero = 0, b_zero = 0, y_zero = 0;
  Multiplier multiplier;
  std::int32_t low = -128, high = 127;
  bool relu = false;                      // float32: negative results become 0
  const FloatKernels* kernels = nullptr;  // float32; null: plain loops
  MatmulVectors vectors = nullptr;        // integers (matmul_vectors()); null: plain loops
};

// Bytes of scratch memory (64-byte aligned) that matmul needs.
std::size_t matmul_scratch(const MatmulSpec& spec) noexcept;

// float32: sums start at 0 and run in the order k = 0, 1, .., so the bits depend neither on the number of
// rows nor on the machine. y is not a or b.
void matmul(const MatmulSpec& spec, const void* a, const void* b, void* y, void* scratch) noexcept;
// The plain loops for integers of one type, std::int8_t or std::int16_t; kAffine is MatmulSpec::affine.
template <class T, bool kAffine>
void matmul_as(const MatmulSpec& spec, const void* a, const void* b, void* y, void* scratch) noexcept;

}  // namespace runnel::kernels
