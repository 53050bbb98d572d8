// Products of computed matrices: bytes widened to 16 bits, with a multiplication by one lane.
#include <arm_neon.h>

#include <algorithm>

#include "kernels/transformer/integer_products.h"
#include "kernels/transformer/integer_products_loops.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_EACH _Pragma("GCC unroll 8")

// kHalves * 8 columns of one row of b, at 16 bits.
template <int kHalves>
[[gnu::always_inline]] inline void widen_columns(const std::int8_t* from, int16x8_t (&to)[kHalves]) noexcept {
  if constexpr (kHalves == 2) {
    const int8x16_t all = vld1q_s8(from);
    to[0] = vmovl_s8(vget_low_s8(all));
    to[1] = vmovl_high_s8(all);
  } else {
    to[0] = vmovl_s8(vld1_s8(from));
  }
}

struct Sums {
  // kHalves * 8 columns from n on.
  template <int kCount, int kHalves>
  [[gnu::always_inline]] static void columns_of(std::int32_t inner, std::int32_t columns,
                                                const std::int16_t* a, const std::int8_t* b,
                                                std::int32_t* sums) noexcept {
    int32x4_t sum[kCount][2 * kHalves];
    RUNNEL_EACH for (int row = 0; row < kCount; ++row) {
      RUNNEL_EACH for (int v = 0; v < 2 * kHalves; ++v) sum[row][v] = vdupq_n_s32(0);
    }
    int16x8_t line[kHalves];
    std::int32_t k = 0;
    const auto one = [&]<int kLane>(const int16x4_t* factors) __attribute__((always_inline)) {
      widen_columns<kHalves>(b, line);
      b += columns;
      RUNNEL_EACH for (int row = 0; row < kCount; ++row) {
        RUNNEL_EACH for (int half = 0; half < kHalves; ++half) {
          int32x4_t &low = sum[row][2 * half], &high = sum[row][2 * half + 1];
          low = vmlal_lane_s16(low, vget_low_s16(line[half]), factors[row], kLane);
          high = vmlal_high_lane_s16(high, line[half], factors[row], kLane);
        }
      }
    };
    int16x4_t factors[kCount];
    for (; k + 4 <= inner; k += 4) {
      RUNNEL_EACH for (int row = 0; row < kCount; ++row) factors[row] = vld1_s16(a + row * inner + k);
      one.template operator()<0>(factors);
      one.template operator()<1>(factors);
      one.template operator()<2>(factors);
      one.template operator()<3>(factors);
    }
    for (; k < inner; ++k) {
      RUNNEL_EACH for (int row = 0; row < kCount; ++row) factors[row] = vdup_n_s16(a[row * inner + k]);
      one.template operator()<0>(factors);
    }
    RUNNEL_EACH for (int row = 0; row < kCount; ++row) {
      RUNNEL_EACH for (int v = 0; v < 2 * kHalves; ++v) vst1q_s32(sums + row * columns + 4 * v, sum[row][v]);
    }
  }
  template <int kCount>
  static void bytes(std::int32_t inner, std::int32_t columns, const std::int16_t* a, const std::int8_t* b,
                    std::int32_t* sums) noexcept {
    std::int32_t n = 0;
    for (; n + 16 <= columns; n += 16) columns_of<kCount, 2>(inner, columns, a, b + n, sums + n);
    // The last eight columns overlap those before them, which get the same sums again.
    for (; n < columns && columns >= 8; n += 8) {
      n = std::min(n, columns - 8);
      columns_of<kCount, 1>(inner, columns, a, b + n, sums + n);
    }
    for (; n < columns; ++n) {
      for (int row = 0; row < kCount; ++row) {
        std::int32_t sum = 0;
        for (std::int32_t k = 0; k < inner; ++k)
          sum += std::int32_t{a[row * inner + k]} * b[std::int64_t{k} * columns + n];
        sums[row * columns + n] = sum;
      }
    }
  }
  static void words(std::int32_t inner, std::int32_t columns, const std::int16_t* a, const std::int16_t* b,
                    std::int64_t* sums) noexcept {
    std::int32_t n = 0;
    for (; n < columns && columns >= 8; n += 8) {
      n = std::min(n, columns - 8);  // as for bytes
      int64x2_t sum[4];
      RUNNEL_EACH for (int v = 0; v < 4; ++v) sum[v] = vdupq_n_s64(0);
      for (std::int32_t k = 0; k < inner; ++k) {
        const int16x8_t line = vld1q_s16(b + std::int64_t{k} * columns + n), factor = vdupq_n_s16(a[k]);
        const int32x4_t low = vmull_s16(vget_low_s16(line), vget_low_s16(factor)),
                        high = vmull_high_s16(line, factor);
        sum[0] = vaddw_s32(sum[0], vget_low_s32(low));
        sum[1] = vaddw_high_s32(sum[1], low);
        sum[2] = vaddw_s32(sum[2], vget_low_s32(high));
        sum[3] = vaddw_high_s32(sum[3], high);
      }
      RUNNEL_EACH for (int v = 0; v < 4; ++v) vst1q_s64(sums + n + 2 * v, sum[v]);
    }
    for (; n < columns; ++n) {
      sums[n] = 0;
      for (std::int32_t k = 0; k < inner; ++k)
        sums[n] += std::int32_t{a[k]} * std::int32_t{b[std::int64_t{k} * columns + n]};
    }
  }
};

}  // namespace

void byte_products_neon(const MatmulSpec& spec, const void* a, const void* b, void* y,
                        void* scratch) noexcept {
  byte_products<Sums>(spec, a, b, y, scratch);
}
void word_products_neon(const MatmulSpec& spec, const void* a, const void* b, void* y,
                        void* scratch) noexcept {
  word_products<Sums>(spec, a, b, y, scratch);
}

}  // namespace runnel::kernels
