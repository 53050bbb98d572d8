#include "kernels/elementwise/affine_loops.h"
#include "kernels/elementwise/elementwise_loops.h"
#include "kernels/rvv/vectors.h"

namespace runnel::kernels {
namespace {

// Loads by index: as bytes without sign, positions begin with those of x = 0, in the middle of the table.
void lut8_rvv(std::size_t count, const std::int8_t* x, std::int8_t* y, const std::int8_t* table) noexcept {
  for (std::size_t i = 0; i < count;) {
    const std::size_t vl = __riscv_vsetvl_e8m8(count - i);
    const vuint8m8_t at =
        __riscv_vxor_vx_u8m8(__riscv_vreinterpret_v_i8m8_u8m8(__riscv_vle8_v_i8m8(x + i, vl)), 0x80, vl);
    __riscv_vse8_v_i8m8(y + i, __riscv_vluxei8_v_i8m8(table, at, vl), vl);
    i += vl;
  }
}

constexpr Elementwise kRvv{binary_loops, requantize_loops, lut8_rvv,
                           lut16_loops,  quantize_loops,   dequantize_loops};

}  // namespace

const Elementwise& elementwise_rvv() noexcept { return kRvv; }
AffinePairs affine_pairs_rvv() noexcept { return affine_loops; }
AffineConversions affine_conversions_rvv() noexcept { return {quantize_loops, dequantize_loops, Isa::rvv}; }

}  // namespace runnel::kernels
