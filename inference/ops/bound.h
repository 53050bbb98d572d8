// Bound operators that compiler/embed turns into constants: it reads what an operator was bound to, and a
// compiled model has the same structure, or a smaller one for a direct call, as a constant.
#pragma once

#include "inference/ops/attention/bound_attention.h"
#include "inference/ops/binary/bound_pair.h"
#include "inference/ops/movement/bound_movement.h"
#include "inference/ops/support.h"
#include "inference/ops/unary/bound_unary.h"
#include "kernels/arithmetic/arithmetic.h"
#include "kernels/conv/conv.h"
#include "kernels/elementwise/elementwise.h"

namespace runnel::ops {

// Convolution and fully connected layers of integers.
struct BoundConv : BoundOperator {
  kernels::Conv conv;
  Operand x;
  Operand addend;
  std::int32_t y = -1;
  std::int32_t batch = 1;
  std::size_t x_bytes = 0, y_bytes = 0;  // of one batch entry
};

// Sums, differences, products, maxima and minima of two tensors.
struct BoundBinary : BoundPair {
  const kernels::Elementwise* kernels = nullptr;  // integers
  kernels::BinarySpec spec;                       // of one call
  kernels::PairSpec plain;                        // float32, int32, int64: of one call
};

}  // namespace runnel::ops
