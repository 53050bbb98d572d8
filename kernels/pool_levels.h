// Pooling of the instruction levels, for pool() and add_rows() only.
#pragma once

#include "kernels/pool.h"

namespace runnel::kernels {

void pool_avx2(const PoolSpec& spec, const PoolRange& data, const void* x, void* y) noexcept;
void add_rows_avx2(DType dtype, std::int64_t rows, std::ptrdiff_t step, std::int32_t width, const void* x,
                   std::int32_t* sums) noexcept;
void pool_avx512(const PoolSpec& spec, const PoolRange& data, const void* x, void* y) noexcept;
void add_rows_avx512(DType dtype, std::int64_t rows, std::ptrdiff_t step, std::int32_t width, const void* x,
                     std::int32_t* sums) noexcept;

}  // namespace runnel::kernels
