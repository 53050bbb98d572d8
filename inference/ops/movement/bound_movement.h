// Bound operators that move data, and the functions that run them, which compiled models name one by one
// (inference/ops/bound.h). A change of exponent on the way is `rescale`.
#pragma once

#include "inference/ops/rescale.h"
#include "inference/ops/support.h"
#include "kernels/conv/strided.h"
#include "kernels/movement.h"

namespace runnel::ops {

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
void run_transpose(const BoundOperator& self, const RunContext& context) noexcept;
void run_slice(const BoundOperator& self, const RunContext& context) noexcept;

// Walks with a stride per axis: depth to space, space to depth, expand.
struct BoundStrided : BoundOperator {
  kernels::StridedCopy copy;
  Operand x;
  std::int32_t y = -1;
  std::size_t count = 0;
  Rescale rescale;
};
void run_strided(const BoundOperator& self, const RunContext& context) noexcept;

// Concat and split: a whole, and its parts along `axis`.
struct Part {
  Operand x;                 // concat: the source; split: unused
  std::int32_t tensor = -1;  // split: the destination
  kernels::Dims dims{};
  std::int32_t offset = 0;
  std::size_t count = 0;
  Rescale rescale;
};
struct BoundParts : BoundOperator {
  Operand x;            // split: the whole
  std::int32_t y = -1;  // concat: the whole
  std::size_t element = 1;
  int rank = 0, axis = 0;
  kernels::Dims dims{};  // of the whole
  std::int32_t count = 0;
  const Part* parts = nullptr;
};
void run_concat(const BoundOperator& self, const RunContext& context) noexcept;
void run_split(const BoundOperator& self, const RunContext& context) noexcept;

}  // namespace runnel::ops
