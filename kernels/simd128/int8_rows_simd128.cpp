#include "kernels/int8_rows_levels.h"
#include "kernels/int8_rows_loops.h"

namespace runnel::kernels {

const Int8Rows& int8_rows_simd128() noexcept { return kRows; }

}  // namespace runnel::kernels
