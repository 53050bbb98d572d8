// Rows of int8 for RISC-V's vectors. A load of segments brings the four inputs of 16 rows apart.
#include "kernels/int8_rows_levels.h"
#include "kernels/int8_rows_loops.h"
#include "kernels/rvv/vectors.h"

namespace runnel::kernels {
namespace {

static_assert(kPackedRowsTogether == 16);

RUNNEL_VECTOR vint32m4_t added(vint32m4_t sum, std::int8_t x, vint8m1_t weights, std::size_t vl) noexcept {
  return __riscv_vwmacc_vx_i32m4(sum, x, __riscv_vsext_vf2_i16m2(weights, vl), vl);
}

void products_rvv(const PackedBytes& rows, const std::int8_t* x, std::int32_t* sums) noexcept {
  constexpr std::size_t vl = kPackedRowsTogether;
  const std::int8_t* weights = rows.weights;
  for (std::int32_t group = 0; group < rows.groups; ++group) {
    vint32m4_t sum = __riscv_vmv_v_x_i32m4(0, vl);
    for (std::int32_t four = 0; four < rows.fours; ++four, weights += 4 * kPackedRowsTogether) {
      const std::int8_t* const in = x + 4 * four;
#if __riscv_v_intrinsic >= 12000
      const vint8m1x4_t all = __riscv_vlseg4e8_v_i8m1x4(weights, vl);
      const vint8m1_t a = __riscv_vget_v_i8m1x4_i8m1(all, 0), b = __riscv_vget_v_i8m1x4_i8m1(all, 1),
                      c = __riscv_vget_v_i8m1x4_i8m1(all, 2), d = __riscv_vget_v_i8m1x4_i8m1(all, 3);
#else
      vint8m1_t a, b, c, d;
      __riscv_vlseg4e8_v_i8m1(&a, &b, &c, &d, weights, vl);
#endif
      sum = added(sum, in[0], a, vl);
      sum = added(sum, in[1], b, vl);
      sum = added(sum, in[2], c, vl);
      sum = added(sum, in[3], d, vl);
    }
    __riscv_vse32_v_i32m4(sums + group * kPackedRowsTogether, sum, vl);
  }
}

constexpr Int8Rows kRowsRvv{dot, quantize, widen, scale_back, products_rvv};

}  // namespace

const Int8Rows& int8_rows_rvv() noexcept { return kRowsRvv; }

}  // namespace runnel::kernels
