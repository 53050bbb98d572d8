// The float kernels of one instruction level. All levels give the same bits: sums have one order
// (float_matrix.h), and all code but pair_product uses fused multiply-adds, the portable code too (the C
// library computes them on machines without).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "kernels/float32/float_matrix.h"

namespace runnel::kernels {

// Results below `low` become `low`, then those above `high` become `high`; NaN stays. ReLU: low = 0.
struct FloatLimits {
  float low = -__builtin_inff(), high = __builtin_inff();

  // Both, these before the others.
  [[nodiscard]] FloatLimits then(const FloatLimits& next) const noexcept {
    return {next.apply(low), next.apply(high)};
  }
  [[nodiscard]] float apply(float value) const noexcept {
    return value < low ? low : value > high ? high : value;
  }
};

// A depthwise convolution: x [in_height][in_width][channels], weights
// [kernel_height][kernel_width][channels]. Each result is summed from 0 over its taps in order with fused
// multiply-adds, then the bias is added.
struct FloatDepthwise {
  std::int32_t channels = 1;
  std::int32_t in_height = 1, in_width = 1, out_height = 1, out_width = 1;
  std::int32_t kernel_height = 1, kernel_width = 1, stride_height = 1, stride_width = 1, dilation_height = 1,
               dilation_width = 1;
  std::int32_t pad_top = 0, pad_left = 0;
  const float *weights = nullptr, *bias = nullptr;
  FloatLimits limits;
};

// Functions of one float. Against the exact result, in units of the last place: exp 1, tanh 1.5, sigmoid 2.5,
// swish 3 (below -87, where its sigmoid is subnormal: 2e-43), sqrt 0.5.
// tests/kernels/float32/float_kernels_test.cpp measures it.
using FloatMap = void (*)(std::size_t count, const float* x, float* y) noexcept;  // y may be x

struct FloatKernels {
  // Of packed matrices: lanes of a vector, and vectors of the widest panel.
  std::int32_t lanes = 1, panel_vectors = 1;
  // y[r][n], r < rows, with rows x_step and y_step elements apart. y is not x.
  void (*product)(const FloatMatrix& matrix, std::int64_t rows, const float* x, std::ptrdiff_t x_step,
                  float* y, std::ptrdiff_t y_step, const FloatLimits& limits) noexcept = nullptr;
  // The same with factor k of a row at x[r * x_step + at[k]]: windows of an image without a copy of each.
  // Null where the level has no vectors.
  void (*product_at)(const FloatMatrix& matrix, std::int64_t rows, const float* x, std::ptrdiff_t x_step,
                     const std::int32_t* at, float* y, std::ptrdiff_t y_step,
                     const FloatLimits& limits) noexcept = nullptr;
  // y [rows, columns] = a [rows, inner] * b [inner, columns]: sums from 0 in the order of `inner`, each
  // product rounded before it is added. y is not a or b.
  void (*pair_product)(std::int64_t rows, std::int64_t inner, std::int64_t columns, const float* a,
                       const float* b, float* y, bool relu) noexcept = nullptr;
  void (*depthwise)(const FloatDepthwise& spec, const float* x, float* y) noexcept = nullptr;
  // Gates of `hidden` units, LSTM i o f c and GRU z r n, from products with the frame and with the state;
  // updates h and c.
  void (*lstm_gates)(std::size_t hidden, const float* from_input, const float* from_hidden, float* h,
                     float* c) noexcept = nullptr;
  void (*gru_gates)(std::size_t hidden, const float* from_input, const float* from_hidden,
                    float* h) noexcept = nullptr;
  FloatMap exp = nullptr, sigmoid = nullptr, tanh = nullptr, swish = nullptr, sqrt = nullptr;
  // The bits of Function::log (functions.h): in double precision, rounded once. Null where the level has no
  // vectors.
  FloatMap log = nullptr;
};

const FloatKernels& float_kernels(Isa isa) noexcept;

}  // namespace runnel::kernels
