// Moving data without changing it: transpose, slice, concatenate, pad. Sizes in elements of `element_size`
// bytes (1, 2, 4, 8).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace runnel::kernels {

inline constexpr int kMaxRank = 6;
using Dims = std::array<std::int32_t, kMaxRank>;

// y[i0, i1, ...] with dims x_dims[perm[0]], x_dims[perm[1]], ... = x.
void transpose(std::size_t element_size, int rank, const Dims& x_dims, std::span<const std::uint8_t> perm,
               const void* x, void* y) noexcept;

// y[i] = x[begin + i*step] on every axis; step may be negative.
void slice(std::size_t element_size, int rank, const Dims& x_dims, const Dims& begin, const Dims& step,
           const Dims& y_dims, const void* x, void* y) noexcept;

// Copies x into y at `offset` along `axis`: one operand of a concatenation. All other dims are equal.
void concat_into(std::size_t element_size, int rank, int axis, const Dims& x_dims, const Dims& y_dims,
                 std::int32_t offset, const void* x, void* y) noexcept;

// Sets `count` elements of y to `value` (element_size bytes).
void fill(std::size_t element_size, std::int64_t count, const void* value, void* y) noexcept;

// y = x padded with `value` (element_size bytes) on every axis: `before` elements first, the rest at the end.
void pad_constant(std::size_t element_size, int rank, const Dims& x_dims, const Dims& before,
                  const Dims& y_dims, const void* value, const void* x, void* y) noexcept;

}  // namespace runnel::kernels
