// Requantization of sums for RISC-V's vectors.
#pragma once

#include "kernels/conv/conv_plan.h"
#include "kernels/rvv/vectors.h"

namespace runnel::kernels {
namespace {

// Of plain plans (conv_plan.h), from the registers that sums have grown in: saturating to bytes is the upper
// clamp. kEqual: one shift for all channels; else `shift` has one for each.
template <bool kSum, bool kEqual>
struct PlainFinish {
  const std::int32_t* shift;
  std::int32_t equal;
  std::int8_t low, sum_low;

  [[gnu::always_inline]] PlainFinish(const ConvPlan& plan, std::int32_t first) noexcept
      : shift(plan.shift + (kEqual ? 0 : first)),
        equal(plan.equal_shift),
        low(plan.low_bytes[0]),
        sum_low(plan.sum_low_bytes[0]) {}

  [[gnu::always_inline]] void operator()(vint32m8_t sum, const std::int8_t* addend, std::int8_t* y,
                                         std::size_t vl) const noexcept {
    if constexpr (kEqual)
      sum = __riscv_vsra_vx_i32m8(sum, static_cast<std::size_t>(equal), vl);
    else
      sum = __riscv_vsra_vv_i32m8(sum, __riscv_vreinterpret_v_i32m8_u32m8(__riscv_vle32_v_i32m8(shift, vl)),
                                  vl);
    vint8m2_t bytes = __riscv_vmax_vx_i8m2(saturated_bytes(saturated_words(sum, vl), vl), low, vl);
    if constexpr (kSum)
      bytes = __riscv_vmax_vx_i8m2(__riscv_vsadd_vv_i8m2(bytes, __riscv_vle8_v_i8m2(addend, vl), vl), sum_low,
                                   vl);
    __riscv_vse8_v_i8m2(y, bytes, vl);
  }
};

// Rounds the sums of the lanes [at, at + vl), as `plan` says.
[[gnu::always_inline]] inline vint32m4_t rounded(const ConvPlan& plan, vint32m4_t sum, std::int32_t at,
                                                 std::size_t vl) noexcept {
  const auto column = [=](const std::int32_t* of) __attribute__((always_inline)) {
    return __riscv_vle32_v_i32m4(of + at, vl);
  };
  const auto shifted = [&](vint32m4_t v) __attribute__((always_inline)) {
    return plan.shift_stride == 0
               ? __riscv_vsra_vx_i32m4(
                     v, static_cast<std::size_t>(plan.equal_shift < 0 ? 0 : plan.equal_shift), vl)
               : __riscv_vsra_vv_i32m4(v, __riscv_vreinterpret_v_i32m4_u32m4(column(plan.shift)), vl);
  };
  if (plan.finish == Finish::half_up) return shifted(sum);  // the half is already in the sum
  if (plan.finish == Finish::half_even) {
    // No bits left below mean a tie: the result must be even.
    const vint32m4_t result = shifted(sum);
    const vbool8_t ties = __riscv_vmseq_vx_i32m4_b8(__riscv_vand_vv_i32m4(sum, column(plan.mask), vl), 0, vl);
    return __riscv_vmerge_vvm_i32m4(result, __riscv_vand_vx_i32m4(result, -2, vl), ties, vl);
  }
  if (plan.finish == Finish::tflite_double && plan.half != nullptr) {
    // See round_doubled() in conv_vector.h.
    const vint32m4_t high = doubled_high(sum, column(plan.multiplier), vl);
    return shifted(__riscv_vadd_vv_i32m4(__riscv_vadd_vv_i32m4(high, column(plan.half), vl),
                                         __riscv_vsra_vx_i32m4(sum, 31, vl), vl));
  }
  if (plan.left != nullptr)
    sum = __riscv_vsll_vv_i32m4(sum, __riscv_vreinterpret_v_i32m4_u32m4(column(plan.left)), vl);
  const vint32m4_t high = multiply_high31(sum, column(plan.multiplier), column(plan.nudge), vl);
  if (plan.finish == Finish::single) return shifted(__riscv_vadd_vv_i32m4(high, column(plan.half), vl));
  // Quotients' ties away from zero: half of the mask, and 1 more below 0, is the most that rounds down.
  const vint32m4_t mask = column(plan.mask), rest = __riscv_vand_vv_i32m4(high, mask, vl);
  const vint32m4_t half = __riscv_vreinterpret_v_u32m4_i32m4(
      __riscv_vsrl_vx_u32m4(__riscv_vreinterpret_v_i32m4_u32m4(mask), 1, vl));
  const vint32m4_t threshold = __riscv_vsub_vv_i32m4(half, __riscv_vsra_vx_i32m4(high, 31, vl), vl);
  const vint32m4_t result = shifted(high);
  return __riscv_vmerge_vvm_i32m4(result, __riscv_vadd_vx_i32m4(result, 1, vl),
                                  __riscv_vmsgt_vv_i32m4_b8(rest, threshold, vl), vl);
}

// Of every plan, from sums in memory: lanes [first, first + count). y, addend: channel 0; addend may be null.
[[maybe_unused]] [[gnu::noinline]] void finish_sums(const Conv& conv, const ConvPlan& plan,
                                                    const std::int32_t* sums, std::int32_t first,
                                                    std::int32_t count, std::int8_t* y,
                                                    const std::int8_t* addend) noexcept {
  if (plan.finish == Finish::scalar)
    return finish_scalar(conv.spec, sums, plan.channel + first, count, y, addend);
  for (std::int32_t i = 0; i < count;) {
    const std::size_t vl = __riscv_vsetvl_e32m4(static_cast<std::size_t>(count - i));
    vint32m4_t v = rounded(plan, __riscv_vle32_v_i32m4(sums + i, vl), first + i, vl);
    v = __riscv_vadd_vx_i32m4(v, plan.zero_point, vl);
    v = __riscv_vmin_vx_i32m4(__riscv_vmax_vx_i32m4(v, plan.low, vl), plan.high, vl);
    vint8m1_t bytes = saturated_bytes(saturated_words(v, vl), vl);
    if (addend != nullptr) {
      bytes = __riscv_vsadd_vv_i8m1(bytes, __riscv_vle8_v_i8m1(addend + first + i, vl), vl);
      bytes = __riscv_vmin_vx_i8m1(__riscv_vmax_vx_i8m1(bytes, static_cast<std::int8_t>(plan.sum_low), vl),
                                   static_cast<std::int8_t>(plan.sum_high), vl);
    }
    __riscv_vse8_v_i8m1(y + first + i, bytes, vl);
    i += static_cast<std::int32_t>(vl);
  }
}

}  // namespace
}  // namespace runnel::kernels
