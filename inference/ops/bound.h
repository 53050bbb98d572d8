// Bound operators that compiler/embed turns into constants (compiled.h).
#pragma once

#include "inference/ops/binary/bound_pair.h"
#include "inference/ops/rescale.h"
#include "inference/ops/support.h"
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

// The same elements in the same order: reshape, and a transpose with keeps_bytes.
struct BoundCopy : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  std::size_t bytes = 0, count = 0;
  Rescale rescale;
};

// Other transposes, and slice.
struct BoundMove : BoundOperator {
  Operand x;
  std::int32_t y = -1;
  std::size_t element = 1, count = 0;
  int rank = 0;
  kernels::Dims x_dims{}, y_dims{}, begin{}, step{};
  std::uint8_t perm[kMaxRank] = {};
  Rescale rescale;
};

}  // namespace runnel::ops
