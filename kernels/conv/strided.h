// Strided copies, with a stride of the source per axis: block rearrangements, broadcasts, reversals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace runnel::kernels {

inline constexpr int kMaxStridedRank = 6;

struct StridedCopy {
  std::size_t element_size = 1;  // 1, 2, 4 or 8 bytes
  int rank = 0;
  std::array<std::int32_t, kMaxStridedRank> dims{};  // of y, which is dense
  std::array<std::int64_t, kMaxStridedRank>
      strides{};  // of x, in elements; 0 repeats, negative walks backwards
};

// y[i0, i1, ...] = x[i0*strides[0] + i1*strides[1] + ...].
void strided_copy(const StridedCopy& copy, const void* x, void* y) noexcept;

}  // namespace runnel::kernels
