// The largest elements along one axis, and their indices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace runnel::kernels {

// x is [outer, count, inner]; values (may be null) and indices are [outer, k, inner], best first; of equal
// elements the lower index first. NaN ranks below every number.
struct SelectSpec {
  DType dtype = DType::float32;  // of x and values: int8, int16, int32 or float32
  DType index = DType::int32;    // of indices: int32 or int64
  bool smallest = false;
  std::size_t outer = 1, count = 1, inner = 1, k = 1;  // 1 <= k <= count
};

// scratch: k std::int32_t.
void select_best(const SelectSpec& spec, const void* x, void* values, void* indices,
                 std::int32_t* scratch) noexcept;

}  // namespace runnel::kernels
