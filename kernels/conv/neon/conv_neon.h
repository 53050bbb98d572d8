// 128-bit vectors of AArch64 for conv_vector.h, and how their sums grow. Lanes are in plain order: with four
// lanes a vector, that is the order of ConvPlan.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <type_traits>

#include "kernels/conv/conv_sums.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_VECTOR [[gnu::always_inline]] static inline

// kMostFrames: positions that share the weights in registers; kMostGroups: groups of 16 channels that share
// the inputs of one position.
template <int kMostFrames, int kMostGroups>
struct Neon {
  using Int = int32x4_t;
  static constexpr int kLanes = 4;
  static constexpr int kFrames = kMostFrames, kGroups = kMostGroups;
  static constexpr bool kKeepsLimits = true;  // conv_single.h: enough registers

  // Zero point and clamp for store_group and store_vector.
  struct Limits {
    int16x8_t zero_points;
    Int low, high;
    std::int32_t zero_point, lowest, highest;
  };
  RUNNEL_VECTOR Int ints(int8x16_t a) noexcept { return vreinterpretq_s32_s8(a); }
  RUNNEL_VECTOR int8x16_t bytes(Int a) noexcept { return vreinterpretq_s8_s32(a); }
  RUNNEL_VECTOR Limits limits(std::int32_t zero_point, std::int32_t low, std::int32_t high) noexcept {
    return {vdupq_n_s16(static_cast<std::int16_t>(zero_point)),
            ints(vdupq_n_s8(static_cast<std::int8_t>(low))),
            ints(vdupq_n_s8(static_cast<std::int8_t>(high))),
            zero_point,
            low,
            high};
  }
  struct SumLimits {
    Int low, high;
  };
  RUNNEL_VECTOR SumLimits sum_limits(std::int32_t low, std::int32_t high) noexcept {
    return {ints(vdupq_n_s8(static_cast<std::int8_t>(low))),
            ints(vdupq_n_s8(static_cast<std::int8_t>(high)))};
  }

  RUNNEL_VECTOR void settle(Int& /*a*/) noexcept {}  // enough registers
  RUNNEL_VECTOR Int zero() noexcept { return vdupq_n_s32(0); }
  RUNNEL_VECTOR Int load(const void* from) noexcept {
    return ints(vld1q_s8(static_cast<const std::int8_t*>(from)));
  }
  RUNNEL_VECTOR void store(void* to, Int a) noexcept { vst1q_s8(static_cast<std::int8_t*>(to), bytes(a)); }
  RUNNEL_VECTOR Int repeat(std::int32_t a) noexcept { return vdupq_n_s32(a); }
  RUNNEL_VECTOR Int repeat4(const std::int8_t* from) noexcept {
    std::int32_t four;
    __builtin_memcpy(&four, from, 4);
    return vdupq_n_s32(four);
  }
  RUNNEL_VECTOR int16x8_t words(Int a, Int b) noexcept { return vqmovn_high_s32(vqmovn_s32(a), b); }
  // 4 vectors to bytes, saturated.
  RUNNEL_VECTOR Int pack_bytes(const Int* v) noexcept {
    return ints(vqmovn_high_s16(vqmovn_s16(words(v[0], v[1])), words(v[2], v[3])));
  }
  RUNNEL_VECTOR Int add_bytes(Int a, Int b) noexcept { return ints(vqaddq_s8(bytes(a), bytes(b))); }
  RUNNEL_VECTOR Int max_bytes(Int a, Int b) noexcept { return ints(vmaxq_s8(bytes(a), bytes(b))); }
  RUNNEL_VECTOR Int min_bytes(Int a, Int b) noexcept { return ints(vminq_s8(bytes(a), bytes(b))); }
  RUNNEL_VECTOR Int add(Int a, Int b) noexcept { return vaddq_s32(a, b); }
  RUNNEL_VECTOR Int sub(Int a, Int b) noexcept { return vsubq_s32(a, b); }
  RUNNEL_VECTOR Int bit_and(Int a, Int b) noexcept { return vandq_s32(a, b); }
  RUNNEL_VECTOR Int shift_right(Int a, Int by) noexcept { return vshlq_s32(a, vnegq_s32(by)); }
  RUNNEL_VECTOR Int shift_left(Int a, Int by) noexcept { return vshlq_s32(a, by); }
  RUNNEL_VECTOR Int sign(Int a) noexcept { return vshrq_n_s32(a, 31); }
  RUNNEL_VECTOR Int half_of(Int a) noexcept {
    return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a), 1));
  }
  // Clears the lowest bit where `test` is 0.
  RUNNEL_VECTOR Int make_even_where_zero(Int a, Int test) noexcept {
    return vbicq_s32(a, vreinterpretq_s32_u32(vshrq_n_u32(vceqzq_s32(test), 31)));
  }
  // a + 1 where b > c.
  RUNNEL_VECTOR Int add_where_greater(Int a, Int b, Int c) noexcept {
    return vsubq_s32(a, vreinterpretq_s32_u32(vcgtq_s32(b, c)));
  }
  // (a * b + nudge) / 2^31, rounded down.
  RUNNEL_VECTOR Int multiply_high31(Int a, Int b, Int nudge) noexcept {
    const int64x2_t low = vmlal_s32(vmovl_s32(vget_low_s32(nudge)), vget_low_s32(a), vget_low_s32(b));
    const int64x2_t high = vmlal_high_s32(vmovl_high_s32(nudge), a, b);
    return vshrn_high_n_s64(vshrn_n_s64(low, 31), high, 31);
  }
  // (a * b + 2^30) / 2^31, rounded down: what SQRDMULH computes, whose one saturated product, of the least
  // number with itself, has no place here (multipliers are not negative).
  RUNNEL_VECTOR Int doubled_high(Int a, Int b) noexcept { return vqrdmulhq_s32(a, b); }

  // 16 channels; saturating to 16 bits first changes nothing, since zero points are 8 bits.
  RUNNEL_VECTOR Int pack_group(const Int* v, const Limits& limits) noexcept {
    const int16x8_t a = vqaddq_s16(words(v[0], v[1]), limits.zero_points);
    const int16x8_t b = vqaddq_s16(words(v[2], v[3]), limits.zero_points);
    return min_bytes(max_bytes(ints(vqmovn_high_s16(vqmovn_s16(a), b)), limits.low), limits.high);
  }
  // The first `count` bytes, fewer than 16; zeros behind them.
  RUNNEL_VECTOR Int load_some(const std::int8_t* from, std::int32_t count) noexcept {
    alignas(16) std::int8_t all[16] = {};
    for (std::int32_t i = 0; i < count; ++i) all[i] = from[i];
    return load(all);
  }
  RUNNEL_VECTOR Int add_group(Int a, const std::int8_t* addend, std::int32_t count,
                              const SumLimits& limits) noexcept {
    const Int sum = add_bytes(a, count == 16 ? load(addend) : load_some(addend, count));
    return min_bytes(max_bytes(sum, limits.low), limits.high);
  }
  RUNNEL_VECTOR void store_group(Int a, std::int8_t* y, std::int32_t count) noexcept {
    if (count == 16) return store(y, a);
    alignas(16) std::int8_t all[16];
    store(all, a);
    for (std::int32_t i = 0; i < count; ++i) y[i] = all[i];
  }
  // 4 channels.
  RUNNEL_VECTOR Int pack_vector(Int a, const Limits& limits) noexcept {
    a = vaddq_s32(a, vdupq_n_s32(limits.zero_point));
    a = vminq_s32(vmaxq_s32(a, vdupq_n_s32(limits.lowest)), vdupq_n_s32(limits.highest));
    const int8x8_t eight = vqmovn_s16(words(a, a));
    return ints(vcombine_s8(eight, eight));
  }
  RUNNEL_VECTOR Int add_vector(Int a, const std::int8_t* addend, std::int32_t count,
                               const SumLimits& limits) noexcept {
    return min_bytes(max_bytes(add_bytes(a, load_some(addend, count)), limits.low), limits.high);
  }
  RUNNEL_VECTOR void store_vector(Int a, std::int8_t* y, std::int32_t count) noexcept {
    std::int32_t four = vgetq_lane_s32(a, 0);
    if (count == 4) {
      __builtin_memcpy(y, &four, 4);
    } else {
      for (std::int32_t i = 0; i < count; ++i, four >>= 8) y[i] = static_cast<std::int8_t>(four);
    }
  }
};

// The weights of one quad for kVectors vectors: one instruction, since they follow each other, and `from` is
// advanced by it. In GCC's own choice every row would have an address computed apart, and rows loaded ahead
// of their use would push sums out of registers; weights are constant, so that it need not know what is read.
template <int kVectors>
struct WeightRow {
  int8x16_t of[kVectors];
};
template <int kVectors>
RUNNEL_VECTOR WeightRow<kVectors> next_row(const std::int8_t*& from) noexcept {
  static_assert(kVectors >= 1 && kVectors <= 4);
  WeightRow<kVectors> row;
#if defined(__clang__)
  RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) row.of[v] = vld1q_s8(from + v * 16);
  from += kVectors * 16;
#else
  if constexpr (kVectors == 4) {
    int8x16x4_t all;
    asm volatile("ld1 {%S0.16b - %V0.16b}, [%1], #64" : "=w"(all), "+r"(from));
    RUNNEL_UNROLL for (int v = 0; v < 4; ++v) row.of[v] = all.val[v];
  } else if constexpr (kVectors == 3) {
    int8x16x3_t all;
    asm volatile("ld1 {%S0.16b - %U0.16b}, [%1], #48" : "=w"(all), "+r"(from));
    RUNNEL_UNROLL for (int v = 0; v < 3; ++v) row.of[v] = all.val[v];
  } else if constexpr (kVectors == 2) {
    int8x16x2_t all;
    asm volatile("ld1 {%S0.16b - %T0.16b}, [%1], #32" : "=w"(all), "+r"(from));
    RUNNEL_UNROLL for (int v = 0; v < 2; ++v) row.of[v] = all.val[v];
  } else {
    row.of[0] = vld1q_s8(from);
    from += 16;
  }
#endif
  return row;
}

// The weights of vectors `kFirst` and `kFirst` + 1 of two quads, whose rows of kVectors vectors begin kOffset
// bytes after `from`: for products of two quads, which would not leave registers for whole rows.
struct WeightPair {
  int8x16_t first[2], second[2];
};
template <int kVectors, int kFirst, int kOffset>
RUNNEL_VECTOR WeightPair two_quads(const std::int8_t* from) noexcept {
  constexpr int kThis = kOffset + kFirst * 16, kNext = kThis + kVectors * 16;
  WeightPair pair;
  if constexpr (kFirst + 1 == kVectors) {
    pair.first[0] = vld1q_s8(from + kThis);
    pair.second[0] = vld1q_s8(from + kNext);
  } else {
#if defined(__clang__)
    RUNNEL_UNROLL for (int v = 0; v < 2; ++v) {
      pair.first[v] = vld1q_s8(from + kThis + v * 16);
      pair.second[v] = vld1q_s8(from + kNext + v * 16);
    }
#else
    asm volatile("ldp %q0, %q1, [%2, %3]" : "=w"(pair.first[0]), "=w"(pair.first[1]) : "r"(from), "i"(kThis));
    asm volatile("ldp %q0, %q1, [%2, %3]"
                 : "=w"(pair.second[0]), "=w"(pair.second[1])
                 : "r"(from), "i"(kNext));
#endif
  }
  return pair;
}

// Four bytes in all four lanes.
RUNNEL_VECTOR int8x16_t four_bytes(const std::int8_t* from) noexcept {
  std::int32_t bytes;
  __builtin_memcpy(&bytes, from, 4);
  return vreinterpretq_s8_s32(vdupq_n_s32(bytes));
}

// What all multiply-adds share: inputs and weights are bytes as they are. A Dot of these files walks over a
// window itself (`sums`), because it takes more than one quad at a time:
//   Sum, start(bias), total(sum)     a sum of four lanes while it grows
//   kQuads                           quads that it takes together
//   add_quads<kFrames, kVectors>     adds them; add: one quad
template <class Dot>
struct PlainBytes {
  static constexpr int kVectorBytes = 16;
  // to(f, g, v) = the sums of kFrames positions, `x_step` apart, and kGroups groups of kVectors vectors of
  // channels, whose weights are `group_weights` apart and whose lanes follow each other in `bias`.
  template <int kFrames, int kGroups, int kVectors, class Pieces, class To>
  RUNNEL_VECTOR void sums(const Pieces& pieces, std::int64_t x_step, std::int32_t quads,
                          const std::int8_t* weights, std::int64_t group_weights, const std::int32_t* bias,
                          const To& to) noexcept {
    typename Dot::Sum sum[kGroups][kFrames][kVectors];
    RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
        const auto first = Dot::start(vld1q_s32(bias + (g * kVectors + v) * 4));
        RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) sum[g][f][v] = first;
      }
    }
    const std::int8_t* at[kGroups];
    RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) at[g] = weights + g * group_weights;
    pieces.each([&](const std::int8_t* x) __attribute__((always_inline)) {
      std::int32_t left = quads;
      _Pragma("GCC unroll 1") for (; left >= Dot::kQuads; left -= Dot::kQuads) {
        typename Dot::Inputs in[kFrames];
        RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) in[f] = Dot::inputs(x + f * x_step);
        RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
          Dot::template add_quads<kFrames, kVectors>(sum[g], in, at[g]);
        }
        x += 4 * Dot::kQuads;
      }
      _Pragma("GCC unroll 1") for (; left > 0; --left) {
        RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
          const auto row = next_row<kVectors>(at[g]);
          RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
            const int8x16_t in = four_bytes(x + f * x_step);
            RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
              sum[g][f][v] = Dot::add(sum[g][f][v], in, row.of[v]);
            }
          }
        }
        x += 4;
      }
    });
    RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
      RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
        RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) to(f, g, v) = Dot::total(sum[g][f][v]);
      }
    }
  }
};

}  // namespace
}  // namespace runnel::kernels
