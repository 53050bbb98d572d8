// A constant matrix of int8 packed for products with one vector of int8, in vectors (Int8Rows::products).
#pragma once

#include <cstdint>

#include "base/memory.h"
#include "base/status.h"

namespace runnel::kernels {

inline constexpr std::int32_t kPackedRowsTogether = 16;
// With so many products, sums of inputs as unsigned bytes stay within int32.
inline constexpr std::int64_t kMaxPackedBytes = 65536;

// Rows in groups, columns in fours; zeros fill up both.
struct PackedBytes {
  const std::int8_t* weights = nullptr;   // [group][four][row][4]
  const std::int32_t* offsets = nullptr;  // per row: -128 times the sum of its weights, for inputs plus 128
  std::int32_t groups = 0, fours = 0;

  // Bytes of an input, the last ones of which are zeros.
  [[nodiscard]] std::int64_t input_bytes() const noexcept { return std::int64_t{fours} * 4; }
  [[nodiscard]] std::int64_t rows() const noexcept { return std::int64_t{groups} * kPackedRowsTogether; }
};

// `weights` [rows][columns], columns <= kMaxPackedBytes. Error: out_of_memory.
Status pack_bytes(const std::int8_t* weights, std::int64_t rows, std::int64_t columns, Memory& memory,
                  PackedBytes& packed) noexcept;

}  // namespace runnel::kernels
