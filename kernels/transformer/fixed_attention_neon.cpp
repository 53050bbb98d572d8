// Sums of attention for every AArch64: SMLAL on bytes widened to 16 bits; products of 16 bits are added in
// pairs to int64 (SADALP, SADDW), which takes all of them. Four keys share the loads of a query.
#include <arm_neon.h>

#include "kernels/transformer/fixed_attention_levels.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_EACH _Pragma("GCC unroll 4")

// Lanes of a sum of products while it grows. |q| <= 255: a lane of 65536 channels stays within int32.
struct Bytes {
  int32x4_t lanes = vdupq_n_s32(0);

  [[gnu::always_inline]] void add(int16x8_t q, const std::int8_t* row) noexcept {
    const int16x8_t wide = vmovl_s8(vld1_s8(row));
    lanes = vmlal_s16(lanes, vget_low_s16(q), vget_low_s16(wide));
    lanes = vmlal_high_s16(lanes, q, wide);
  }
  [[gnu::always_inline]] std::int64_t total() const noexcept { return vaddlvq_s32(lanes); }
};
struct Words {
  int64x2_t lanes = vdupq_n_s64(0);

  [[gnu::always_inline]] void add(int16x8_t q, const std::int16_t* row) noexcept {
    const int16x8_t wide = vld1q_s16(row);
    lanes = vpadalq_s32(lanes, vmull_s16(vget_low_s16(q), vget_low_s16(wide)));
    lanes = vpadalq_s32(lanes, vmull_high_s16(q, wide));
  }
  [[gnu::always_inline]] std::int64_t total() const noexcept { return vaddvq_s64(lanes); }
};

template <class Sum, int kRows, class T>
[[gnu::always_inline]] inline void products_of(std::int32_t size, const std::int16_t* q, const T* rows,
                                               std::int64_t stride, std::int64_t* sums) noexcept {
  Sum sum[kRows];
  std::int32_t c = 0;
  for (; c + 8 <= size; c += 8) {
    const int16x8_t eight = vld1q_s16(q + c);
    RUNNEL_EACH for (int row = 0; row < kRows; ++row) sum[row].add(eight, rows + row * stride + c);
  }
  RUNNEL_EACH for (int row = 0; row < kRows; ++row) sums[row] = sum[row].total();
  for (; c < size; ++c) {
    RUNNEL_EACH for (int row = 0; row < kRows; ++row) sums[row] +=
        std::int32_t{q[c]} * std::int32_t{rows[row * stride + c]};
  }
}
template <class Sum, class T>
void products(std::int32_t size, const std::int16_t* q, const T* rows, std::int64_t stride,
              std::int64_t count, std::int64_t* sums) noexcept {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) products_of<Sum, 4>(size, q, rows + i * stride, stride, sums + i);
  for (; i < count; ++i) products_of<Sum, 1>(size, q, rows + i * stride, stride, sums + i);
}

// sums[0..3] += four lanes.
[[gnu::always_inline]] inline void add_to(std::int64_t* sums, int64x2_t low, int64x2_t high) noexcept {
  vst1q_s64(sums, vaddq_s64(vld1q_s64(sums), low));
  vst1q_s64(sums + 2, vaddq_s64(vld1q_s64(sums + 2), high));
}

// kEights * 8 channels of all rows. 256 products of a weight of 15 bits and a byte stay within int32.
template <int kEights>
[[gnu::always_inline]] inline void mix_eights(std::int64_t count, const std::int16_t* weights,
                                              const std::int8_t* rows, std::int64_t stride,
                                              std::int64_t* sums) noexcept {
  constexpr std::int64_t kTogether = 256;
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t end = count - i < kTogether ? count : i + kTogether;
    int32x4_t low[kEights], high[kEights];
    RUNNEL_EACH for (int e = 0; e < kEights; ++e) low[e] = high[e] = vdupq_n_s32(0);
    const auto one = [&]<int kLane>(int16x4_t weight) __attribute__((always_inline)) {
      int16x8_t wide[kEights];
      if constexpr (kEights == 2) {
        const int8x16_t all = vld1q_s8(rows);
        wide[0] = vmovl_s8(vget_low_s8(all));
        wide[1] = vmovl_high_s8(all);
      } else {
        wide[0] = vmovl_s8(vld1_s8(rows));
      }
      RUNNEL_EACH for (int e = 0; e < kEights; ++e) {
        low[e] = vmlal_lane_s16(low[e], vget_low_s16(wide[e]), weight, kLane);
        high[e] = vmlal_high_lane_s16(high[e], wide[e], weight, kLane);
      }
      rows += stride;
    };
    for (; i + 4 <= end; i += 4) {
      const int16x4_t four = vld1_s16(weights + i);
      one.template operator()<0>(four);
      one.template operator()<1>(four);
      one.template operator()<2>(four);
      one.template operator()<3>(four);
    }
    for (; i < end; ++i) one.template operator()<0>(vdup_n_s16(weights[i]));
    RUNNEL_EACH for (int e = 0; e < kEights; ++e) {
      add_to(sums + 8 * e, vmovl_s32(vget_low_s32(low[e])), vmovl_high_s32(low[e]));
      add_to(sums + 8 * e + 4, vmovl_s32(vget_low_s32(high[e])), vmovl_high_s32(high[e]));
    }
  }
}
[[gnu::always_inline]] inline void mix_eight(std::int64_t count, const std::int16_t* weights,
                                             const std::int8_t* rows, std::int64_t stride,
                                             std::int64_t* sums) noexcept {
  mix_eights<1>(count, weights, rows, stride, sums);
}
// Two products of a weight of 15 bits and an int16 stay within int32.
[[gnu::always_inline]] inline void mix_eight(std::int64_t count, const std::int16_t* weights,
                                             const std::int16_t* rows, std::int64_t stride,
                                             std::int64_t* sums) noexcept {
  int64x2_t sum[4] = {vdupq_n_s64(0), vdupq_n_s64(0), vdupq_n_s64(0), vdupq_n_s64(0)};
  const auto widen = [&](int32x4_t low, int32x4_t high) __attribute__((always_inline)) {
    sum[0] = vaddw_s32(sum[0], vget_low_s32(low));
    sum[1] = vaddw_high_s32(sum[1], low);
    sum[2] = vaddw_s32(sum[2], vget_low_s32(high));
    sum[3] = vaddw_high_s32(sum[3], high);
  };
  std::int64_t i = 0;
  for (; i + 2 <= count; i += 2, rows += 2 * stride) {
    const int16x8_t a = vld1q_s16(rows), b = vld1q_s16(rows + stride);
    const int16x8_t first = vld1q_dup_s16(weights + i), second = vld1q_dup_s16(weights + i + 1);
    widen(vmlal_s16(vmull_s16(vget_low_s16(a), vget_low_s16(first)), vget_low_s16(b), vget_low_s16(second)),
          vmlal_high_s16(vmull_high_s16(a, first), b, second));
  }
  if (i < count) {
    const int16x8_t a = vld1q_s16(rows), weight = vld1q_dup_s16(weights + i);
    widen(vmull_s16(vget_low_s16(a), vget_low_s16(weight)), vmull_high_s16(a, weight));
  }
  add_to(sums, sum[0], sum[1]);
  add_to(sums + 4, sum[2], sum[3]);
}

template <class T>
void mix(std::int64_t count, const std::int16_t* weights, const T* rows, std::int64_t stride,
         std::int32_t size, std::int64_t* sums) noexcept {
  for (std::int32_t c = 0; c < size; ++c) sums[c] = 0;
  std::int32_t c = 0;
  if constexpr (sizeof(T) == 1) {
    for (; c + 16 <= size; c += 16) mix_eights<2>(count, weights, rows + c, stride, sums + c);
  }
  for (; c + 8 <= size; c += 8) mix_eight(count, weights, rows + c, stride, sums + c);
  for (; c < size; ++c) {
    for (std::int64_t i = 0; i < count; ++i)
      sums[c] += std::int32_t{weights[i]} * std::int32_t{rows[i * stride + c]};
  }
}

#undef RUNNEL_EACH

constexpr FixedAttentionSums kSums{products<Bytes, std::int8_t>, products<Words, std::int16_t>,
                                   mix<std::int8_t>, mix<std::int16_t>};

}  // namespace

const FixedAttentionSums& fixed_attention_sums_neon() noexcept { return kSums; }

}  // namespace runnel::kernels
