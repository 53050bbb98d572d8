// The tables of the instruction levels for int8_rows(isa).
#pragma once

#include "kernels/int8_rows.h"

namespace runnel::kernels {

const Int8Rows& int8_rows_avx2() noexcept;
const Int8Rows& int8_rows_avx512() noexcept;
const Int8Rows& int8_rows_avx512vnni() noexcept;
const Int8Rows& int8_rows_neon() noexcept;
const Int8Rows& int8_rows_neondot() noexcept;
const Int8Rows& int8_rows_simd128() noexcept;
const Int8Rows& int8_rows_rvv() noexcept;

}  // namespace runnel::kernels
