// Bound operators on the elements of one tensor (inference/ops/bound.h).
#pragma once

#include "inference/ops/support.h"
#include "kernels/elementwise/affine.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functions.h"
#include "kernels/float32/float_kernels.h"
#include "kernels/float32/float_swoosh.h"

namespace runnel::ops {

// ReLU, clipping, changes of scale and type, tables.
struct BoundUnary : BoundOperator {
  const kernels::Elementwise* kernels = nullptr;
  Operand x;
  std::int32_t y = -1;
  std::size_t count = 0;
  DType from = DType::none, to = DType::none;
  int shift = 0;  // requantize: y_exponent - x_exponent; quantize, dequantize: the exponent
  kernels::Rounding rounding = kernels::Rounding::half_up;
  std::int32_t low = 0, high = 0;
  float low_value = 0, high_value = 0;  // float32
  const std::byte* table = nullptr;
  std::int32_t entries = 0;
  bool linear = false;
};

// The same of tensors with any scale and zero point.
struct BoundAffine : BoundOperator {
  kernels::AffineUnarySpec spec;
  const kernels::Elementwise* kernels = nullptr;
  const std::int8_t* table = nullptr;  // bytes to bytes: every result, computed while preparing
  Operand x;
  std::int32_t y = -1;
  std::size_t count = 0;
  kernels::Rounding rounding = kernels::Rounding::tflite_double;  // quantize
  kernels::AffineConversions conversions{};                       // quantize, dequantize
};

// Functions of one value.
struct BoundFunction : BoundOperator {
  kernels::QuantizedFunction how;
  Operand x;
  std::int32_t y = -1;
  std::size_t count = 0;
  const kernels::Elementwise* kernels = nullptr;
  kernels::FloatMap map = nullptr;  // float32 to float32: a vector kernel, where there is one
  kernels::SwooshKernel swoosh = nullptr;
  const std::int8_t* table = nullptr;  // int8 to int8: every result, computed while preparing
};

}  // namespace runnel::ops
