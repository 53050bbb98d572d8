#include "kernels/pool_levels.h"
#include "kernels/pool_loops.h"

namespace runnel::kernels {

void pool_avx512(const PoolSpec& spec, const PoolRange& data, const void* x, void* y) noexcept {
  pool_loops(spec, data, x, y);
}
void add_rows_avx512(DType dtype, std::int64_t rows, std::ptrdiff_t step, std::int32_t width, const void* x,
                     std::int32_t* sums) noexcept {
  add_rows_loops(dtype, rows, step, width, x, sums);
}

}  // namespace runnel::kernels
