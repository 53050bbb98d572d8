#include "kernels/recurrent/packed_rows.h"

#include <cstddef>

#include "base/checked.h"

namespace runnel::kernels {
namespace {

std::int16_t weight(const StackedRows& from, std::int64_t row, std::int64_t column) noexcept {
  if (row >= std::int64_t{from.count} * from.rows || column >= from.columns) return 0;
  const void* const matrix = from.matrices[row / from.rows];
  const std::int64_t at = row % from.rows * from.columns + column;
  return from.dtype == DType::int8 ? static_cast<const std::int8_t*>(matrix)[at]
                                   : static_cast<const std::int16_t*>(matrix)[at];
}

}  // namespace

Status pack_rows(const StackedRows& from, std::int32_t lanes, Memory& memory, PackedRows& packed) noexcept {
  packed = {};
  const std::int64_t rows = std::int64_t{from.count} * from.rows, groups = ceil_div(rows, lanes),
                     pairs = ceil_div(from.columns, 2);
  const std::int64_t bytes = groups * pairs * lanes * 2 * static_cast<std::int64_t>(sizeof(std::int16_t));
  auto* const weights = static_cast<std::int16_t*>(memory.allocate(static_cast<std::size_t>(bytes), 64));
  if (weights == nullptr)
    return Status(Code::out_of_memory) << "no memory for " << rows << " packed rows of " << from.columns;
  std::int16_t* to = weights;
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        for (int half = 0; half < 2; ++half) *to++ = weight(from, group * lanes + lane, 2 * pair + half);
        if (to[-1] == -32768 && to[-2] == -32768) return {};
      }
    }
  }
  packed.weights = weights;
  packed.groups = static_cast<std::int32_t>(groups);
  packed.pairs = static_cast<std::int32_t>(pairs);
  return {};
}

}  // namespace runnel::kernels
