#include "kernels/packed_bytes.h"

#include "base/checked.h"

namespace runnel::kernels {

Status pack_bytes(const std::int8_t* weights, std::int64_t rows, std::int64_t columns, Memory& memory,
                  PackedBytes& packed) noexcept {
  packed = {};
  const std::int64_t groups = ceil_div(rows, kPackedRowsTogether), fours = ceil_div(columns, 4),
                     padded = groups * kPackedRowsTogether;
  auto* const to =
      static_cast<std::int8_t*>(memory.allocate(static_cast<std::size_t>(padded * fours * 4), 64));
  auto* const offsets = memory.array<std::int32_t>(static_cast<std::size_t>(padded));
  if (to == nullptr || offsets == nullptr)
    return Status(Code::out_of_memory) << "no memory for " << rows << " packed rows of " << columns;
  std::int8_t* at = to;
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t four = 0; four < fours; ++four) {
      for (std::int64_t lane = 0; lane < kPackedRowsTogether; ++lane) {
        const std::int64_t row = group * kPackedRowsTogether + lane;
        for (std::int64_t column = four * 4; column < four * 4 + 4; ++column)
          *at++ = row < rows && column < columns ? weights[row * columns + column] : std::int8_t{0};
      }
    }
  }
  for (std::int64_t row = 0; row < padded; ++row) {
    std::int32_t sum = 0;
    for (std::int64_t column = 0; row < rows && column < columns; ++column)
      sum += weights[row * columns + column];
    offsets[row] = -128 * sum;
  }
  packed.weights = to;
  packed.offsets = offsets;
  packed.groups = static_cast<std::int32_t>(groups);
  packed.fours = static_cast<std::int32_t>(fours);
  return {};
}

}  // namespace runnel::kernels
