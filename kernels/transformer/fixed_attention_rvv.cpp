// Sums of attention for RISC-V's vectors. A query and a row of keys lie along memory, so that products of
// neighbours are added up at the end; values are mixed row by row, times a scalar.
#include "kernels/rvv/vectors.h"
#include "kernels/transformer/fixed_attention_levels.h"

namespace runnel::kernels {
namespace {

// |q| <= 255: a sum of 65536 channels stays within int32.
void products8(std::int32_t size, const std::int16_t* q, const std::int8_t* rows, std::int64_t stride,
               std::int64_t count, std::int64_t* sums) noexcept {
  const auto most = __riscv_vsetvlmax_e32m8();
  for (std::int64_t i = 0; i < count; ++i, rows += stride) {
    vint32m8_t sum = __riscv_vmv_v_x_i32m8(0, most);
    for (std::int32_t c = 0; c < size;) {
      const std::size_t vl = __riscv_vsetvl_e16m4(static_cast<std::size_t>(size - c));
      // Lanes beyond the last channel keep their sums.
      sum = __riscv_vwmacc_vv_i32m8_tu(sum, __riscv_vle16_v_i16m4(q + c, vl),
                                       __riscv_vsext_vf2_i16m4(__riscv_vle8_v_i8m2(rows + c, vl), vl), vl);
      c += static_cast<std::int32_t>(vl);
    }
    const vint32m1_t total = __riscv_vredsum_vs_i32m8_i32m1(sum, __riscv_vmv_s_x_i32m1(0, 1), most);
    sums[i] = __riscv_vmv_x_s_i32m1_i32(total);
  }
}
void products16(std::int32_t size, const std::int16_t* q, const std::int16_t* rows, std::int64_t stride,
                std::int64_t count, std::int64_t* sums) noexcept {
  for (std::int64_t i = 0; i < count; ++i, rows += stride) {
    vint64m1_t total = __riscv_vmv_s_x_i64m1(0, 1);
    for (std::int32_t c = 0; c < size;) {
      const std::size_t vl = __riscv_vsetvl_e16m4(static_cast<std::size_t>(size - c));
      const vint32m8_t products =
          __riscv_vwmul_vv_i32m8(__riscv_vle16_v_i16m4(q + c, vl), __riscv_vle16_v_i16m4(rows + c, vl), vl);
      total = __riscv_vwredsum_vs_i32m8_i64m1(products, total, vl);
      c += static_cast<std::int32_t>(vl);
    }
    sums[i] = __riscv_vmv_x_s_i64m1_i64(total);
  }
}

// 256 products of a weight of 15 bits and a byte stay within int32.
void mix8(std::int64_t count, const std::int16_t* weights, const std::int8_t* rows, std::int64_t stride,
          std::int32_t size, std::int64_t* sums) noexcept {
  constexpr std::int64_t kTogether = 256;
  for (std::int32_t c = 0; c < size;) {
    const std::size_t vl = __riscv_vsetvl_e64m8(static_cast<std::size_t>(size - c));
    vint64m8_t all = __riscv_vmv_v_x_i64m8(0, vl);
    const std::int8_t* row = rows + c;
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t end = count - i < kTogether ? count : i + kTogether;
      vint32m4_t sum = __riscv_vmv_v_x_i32m4(0, vl);
      for (; i < end; ++i, row += stride)
        sum = __riscv_vwmacc_vx_i32m4(sum, weights[i],
                                      __riscv_vsext_vf2_i16m2(__riscv_vle8_v_i8m1(row, vl), vl), vl);
      all = __riscv_vwadd_wv_i64m8(all, sum, vl);
    }
    __riscv_vse64_v_i64m8(sums + c, all, vl);
    c += static_cast<std::int32_t>(vl);
  }
}
void mix16(std::int64_t count, const std::int16_t* weights, const std::int16_t* rows, std::int64_t stride,
           std::int32_t size, std::int64_t* sums) noexcept {
  for (std::int32_t c = 0; c < size;) {
    const std::size_t vl = __riscv_vsetvl_e64m8(static_cast<std::size_t>(size - c));
    vint64m8_t sum = __riscv_vmv_v_x_i64m8(0, vl);
    const std::int16_t* row = rows + c;
    for (std::int64_t i = 0; i < count; ++i, row += stride)
      sum = __riscv_vwmacc_vx_i64m8(sum, weights[i],
                                    __riscv_vsext_vf2_i32m4(__riscv_vle16_v_i16m2(row, vl), vl), vl);
    __riscv_vse64_v_i64m8(sums + c, sum, vl);
    c += static_cast<std::int32_t>(vl);
  }
}

constexpr FixedAttentionSums kSums{products8, products16, mix8, mix16};

}  // namespace

const FixedAttentionSums& fixed_attention_sums_rvv() noexcept { return kSums; }

}  // namespace runnel::kernels
