// Products of computed matrices for RISC-V's vectors: a row of b, widened, times a scalar of each row of a.
#include "kernels/rvv/vectors.h"
#include "kernels/transformer/integer_products_loops.h"

namespace runnel::kernels {
namespace {

struct Sums {
  // Four rows share what is read of b.
  RUNNEL_VECTOR void four_rows(std::int32_t inner, std::int32_t columns, const std::int16_t* a,
                               const std::int8_t* b, std::int32_t* sums, std::size_t vl) noexcept {
    vint32m4_t s = __riscv_vmv_v_x_i32m4(0, vl), t = s, u = s, v = s;
    for (std::int32_t k = 0; k < inner; ++k, b += columns, ++a) {
      const vint16m2_t line = __riscv_vsext_vf2_i16m2(__riscv_vle8_v_i8m1(b, vl), vl);
      s = __riscv_vwmacc_vx_i32m4(s, a[0], line, vl);
      t = __riscv_vwmacc_vx_i32m4(t, a[inner], line, vl);
      u = __riscv_vwmacc_vx_i32m4(u, a[2 * inner], line, vl);
      v = __riscv_vwmacc_vx_i32m4(v, a[3 * inner], line, vl);
    }
    __riscv_vse32_v_i32m4(sums, s, vl);
    __riscv_vse32_v_i32m4(sums + columns, t, vl);
    __riscv_vse32_v_i32m4(sums + 2 * columns, u, vl);
    __riscv_vse32_v_i32m4(sums + 3 * columns, v, vl);
  }
  RUNNEL_VECTOR void one_row(std::int32_t inner, std::int32_t columns, const std::int16_t* a,
                             const std::int8_t* b, std::int32_t* sums, std::size_t vl) noexcept {
    vint32m4_t sum = __riscv_vmv_v_x_i32m4(0, vl);
    for (std::int32_t k = 0; k < inner; ++k, b += columns)
      sum = __riscv_vwmacc_vx_i32m4(sum, a[k], __riscv_vsext_vf2_i16m2(__riscv_vle8_v_i8m1(b, vl), vl), vl);
    __riscv_vse32_v_i32m4(sums, sum, vl);
  }
  template <int kCount>
  static void bytes(std::int32_t inner, std::int32_t columns, const std::int16_t* a, const std::int8_t* b,
                    std::int32_t* sums) noexcept {
    static_assert(kCount == 1 || kCount == 4);
    for (std::int32_t n = 0; n < columns;) {
      const std::size_t vl = __riscv_vsetvl_e32m4(static_cast<std::size_t>(columns - n));
      if constexpr (kCount == 4)
        four_rows(inner, columns, a, b + n, sums + n, vl);
      else
        one_row(inner, columns, a, b + n, sums + n, vl);
      n += static_cast<std::int32_t>(vl);
    }
  }
  static void words(std::int32_t inner, std::int32_t columns, const std::int16_t* a, const std::int16_t* b,
                    std::int64_t* sums) noexcept {
    for (std::int32_t n = 0; n < columns;) {
      const std::size_t vl = __riscv_vsetvl_e64m8(static_cast<std::size_t>(columns - n));
      vint64m8_t sum = __riscv_vmv_v_x_i64m8(0, vl);
      const std::int16_t* line = b + n;
      for (std::int32_t k = 0; k < inner; ++k, line += columns)
        sum = __riscv_vwmacc_vx_i64m8(sum, a[k], __riscv_vsext_vf2_i32m4(__riscv_vle16_v_i16m2(line, vl), vl),
                                      vl);
      __riscv_vse64_v_i64m8(sums + n, sum, vl);
      n += static_cast<std::int32_t>(vl);
    }
  }
};

}  // namespace

void byte_products_rvv(const MatmulSpec& spec, const void* a, const void* b, void* y,
                       void* scratch) noexcept {
  byte_products<Sums>(spec, a, b, y, scratch);
}
void word_products_rvv(const MatmulSpec& spec, const void* a, const void* b, void* y,
                       void* scratch) noexcept {
  word_products<Sums>(spec, a, b, y, scratch);
}

}  // namespace runnel::kernels
