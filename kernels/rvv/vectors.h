// What files for RISC-V's vectors share: one form of intrinsics that changed between compilers. Included only
// by files compiled for these instructions; everything is in an unnamed namespace: no copy reaches other
// files.
//
// Registers have 128 bits or more, and no file knows how many: a loop takes what vsetvl gives it.
#pragma once

#include <riscv_vector.h>

#include <cstddef>
#include <cstdint>

namespace runnel::kernels {
namespace {

#define RUNNEL_VECTOR [[gnu::always_inline]] static inline

// Since version 0.12 of the intrinsics the rounding of fixed-point instructions is an argument; before, it is
// what a register says.
#if __riscv_v_intrinsic >= 12000
#define RUNNEL_ROUND_UP(call, ...) call(__VA_ARGS__, __RISCV_VXRM_RNU, vl)
#define RUNNEL_NO_SHIFT(call, v) call(v, 0, __RISCV_VXRM_RDN, vl)
#else
#define RUNNEL_ROUND_UP(call, ...) (round_up(), call(__VA_ARGS__, vl))
#define RUNNEL_NO_SHIFT(call, v) call(v, 0, vl)
RUNNEL_VECTOR void round_up() noexcept { asm volatile("csrwi vxrm, 0"); }
#endif

// Saturated to the next smaller type. Without a shift nothing is rounded.
RUNNEL_VECTOR vint16m4_t saturated_words(vint32m8_t v, std::size_t vl) noexcept {
  return RUNNEL_NO_SHIFT(__riscv_vnclip_wx_i16m4, v);
}
RUNNEL_VECTOR vint16m2_t saturated_words(vint32m4_t v, std::size_t vl) noexcept {
  return RUNNEL_NO_SHIFT(__riscv_vnclip_wx_i16m2, v);
}
RUNNEL_VECTOR vint8m2_t saturated_bytes(vint16m4_t v, std::size_t vl) noexcept {
  return RUNNEL_NO_SHIFT(__riscv_vnclip_wx_i8m2, v);
}
RUNNEL_VECTOR vint8m1_t saturated_bytes(vint16m2_t v, std::size_t vl) noexcept {
  return RUNNEL_NO_SHIFT(__riscv_vnclip_wx_i8m1, v);
}
// (a * b + 2^30) / 2^31, rounded down; saturates only -2^31 times itself.
RUNNEL_VECTOR vint32m4_t doubled_high(vint32m4_t a, vint32m4_t b, std::size_t vl) noexcept {
  return RUNNEL_ROUND_UP(__riscv_vsmul_vv_i32m4, a, b);
}
RUNNEL_VECTOR vint32m4_t doubled_high(vint32m4_t a, std::int32_t b, std::size_t vl) noexcept {
  return RUNNEL_ROUND_UP(__riscv_vsmul_vx_i32m4, a, b);
}
#undef RUNNEL_ROUND_UP
#undef RUNNEL_NO_SHIFT

// (a * b + nudge) / 2^31, rounded down; 0 <= nudge.
RUNNEL_VECTOR vint32m4_t multiply_high31(vint32m4_t a, vint32m4_t b, vint32m4_t nudge,
                                         std::size_t vl) noexcept {
  const auto low = __riscv_vreinterpret_v_i32m4_u32m4(__riscv_vmul_vv_i32m4(a, b, vl)),
             more = __riscv_vreinterpret_v_i32m4_u32m4(nudge);
  const auto high = __riscv_vadc_vxm_i32m4(__riscv_vmulh_vv_i32m4(a, b, vl), 0,
                                           __riscv_vmadc_vv_u32m4_b8(low, more, vl), vl);
  const auto bit = __riscv_vsrl_vx_u32m4(__riscv_vadd_vv_u32m4(low, more, vl), 31, vl);
  return __riscv_vor_vv_i32m4(__riscv_vsll_vx_i32m4(high, 1, vl), __riscv_vreinterpret_v_u32m4_i32m4(bit),
                              vl);
}

}  // namespace
}  // namespace runnel::kernels
