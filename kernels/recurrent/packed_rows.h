// Products of a constant matrix of integers with one vector, in vectors: every row's exact sum.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/memory.h"
#include "base/status.h"

namespace runnel::kernels {

// Rows in groups of `lanes`, columns in pairs; zeros fill up both.
struct PackedRows {
  const std::int16_t* weights = nullptr;  // [group][pair][lane][2]
  std::int32_t groups = 0, pairs = 0;
};

// With |x| <= 255 and int8 weights, sums of this many products stay within int32.
inline constexpr std::int32_t kMaxPackedColumns = 65536;

// Several matrices of [rows][columns] weights, int8 or int16, one below the other.
struct StackedRows {
  const void* const* matrices = nullptr;
  std::int32_t count = 1, rows = 0, columns = 0;
  DType dtype = DType::int8;
};

// Leaves `packed` without weights where a pair of int16 products could overflow int32: two weights of -32768
// side by side.
Status pack_rows(const StackedRows& from, std::int32_t lanes, Memory& memory, PackedRows& packed) noexcept;

}  // namespace runnel::kernels
