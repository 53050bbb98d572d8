// Depthwise convolutions of AArch64: 16 channels of a tap are one load of inputs and one of weights, two taps
// one sum in int16. For every level: with dot products, the interleaving of four taps costs what the products
// save (9 taps of 16 channels take 63 instructions there and 66 here).
#pragma once

#include "kernels/conv/neon/conv_neon.h"

namespace runnel::kernels {
namespace {

// Where the taps are: at equal distances,
struct EvenTaps {
  const std::int8_t* x;
  std::int64_t step;

  [[gnu::always_inline]] int8x16_t next() noexcept {
    const int8x16_t row = vld1q_s8(x);
    x += step;
    return row;
  }
  [[gnu::always_inline]] void four(int8x16_t* to) noexcept {
    to[0] = vld1q_s8(x);
    to[1] = vld1q_s8(x + step);
    to[2] = vld1q_s8(x + 2 * step);
    to[3] = vld1q_s8(x + 3 * step);
    x += 4 * step;
  }
};
// or anywhere.
struct ListedTaps {
  const std::int8_t* x;
  const std::int64_t* offset;

  [[gnu::always_inline]] int8x16_t next() noexcept { return vld1q_s8(x + *offset++); }
  [[gnu::always_inline]] void four(int8x16_t* to) noexcept {
    RUNNEL_UNROLL for (int i = 0; i < 4; ++i) to[i] = vld1q_s8(x + offset[i]);
    offset += 4;
  }
};

// sum += products of 16 channels.
RUNNEL_VECTOR void add_products(int32x4_t (&sum)[4], int16x8_t low, int16x8_t high) noexcept {
  sum[0] = vaddw_s16(sum[0], vget_low_s16(low));
  sum[1] = vaddw_high_s16(sum[1], low);
  sum[2] = vaddw_s16(sum[2], vget_low_s16(high));
  sum[3] = vaddw_high_s16(sum[3], high);
}
RUNNEL_VECTOR void add_tap(int32x4_t (&sum)[4], int8x16_t x, int8x16_t w) noexcept {
  add_products(sum, vmull_s8(vget_low_s8(x), vget_low_s8(w)), vmull_high_s8(x, w));
}
template <bool kPairs>
RUNNEL_VECTOR void add_two_taps(int32x4_t (&sum)[4], int8x16_t x, int8x16_t v, int8x16_t z,
                                int8x16_t w) noexcept {
  if constexpr (kPairs) {
    add_products(sum, vmlal_s8(vmull_s8(vget_low_s8(x), vget_low_s8(v)), vget_low_s8(z), vget_low_s8(w)),
                 vmlal_high_s8(vmull_high_s8(x, v), z, w));
  } else {
    add_tap(sum, x, v);
    add_tap(sum, z, w);
  }
}

// The weights and biases of kTaps taps of 16 channels, in registers.
template <int kTaps, bool kPairs>
struct KeptTaps {
  int8x16_t weight[kTaps];
  int32x4_t bias[4];

  [[gnu::always_inline]] KeptTaps(const std::int8_t* weights, const std::int32_t* biases) noexcept {
    RUNNEL_UNROLL for (int v = 0; v < 4; ++v) bias[v] = vld1q_s32(biases + v * 4);
    RUNNEL_UNROLL for (int t = 0; t + 4 <= kTaps; t += 4) {
      const auto row = next_row<4>(weights);
      RUNNEL_UNROLL for (int i = 0; i < 4; ++i) weight[t + i] = row.of[i];
    }
    if constexpr (kTaps % 4 != 0) {
      const auto row = next_row<kTaps % 4>(weights);
      RUNNEL_UNROLL for (int i = 0; i < kTaps % 4; ++i) weight[kTaps / 4 * 4 + i] = row.of[i];
    }
  }
  // at: of each tap, from x.
  [[gnu::always_inline]] void sums(const std::int8_t* x, const std::int64_t (&at)[kTaps],
                                   int32x4_t (&sum)[4]) const noexcept {
    RUNNEL_UNROLL for (int v = 0; v < 4; ++v) sum[v] = bias[v];
    RUNNEL_UNROLL for (int t = 0; t + 2 <= kTaps; t += 2) {
      add_two_taps<kPairs>(sum, vld1q_s8(x + at[t]), weight[t], vld1q_s8(x + at[t + 1]), weight[t + 1]);
    }
    if constexpr (kTaps % 2 != 0) add_tap(sum, vld1q_s8(x + at[kTaps - 1]), weight[kTaps - 1]);
  }
};

// kPairs: no weights of taps 2t and 2t + 1 are -128 and -128, or inputs are 0..127.
template <bool kPairs>
struct Rows {
  static constexpr bool kTakesTaps = true;
  RUNNEL_VECTOR EvenTaps even(const std::int8_t* x, std::int64_t step) noexcept { return {x, step}; }
  RUNNEL_VECTOR ListedTaps listed(const std::int8_t* x, const std::int64_t* offset) noexcept {
    return {x, offset};
  }
  // sum = bias + the products of `taps` taps of 16 channels. Weights: [tap][16 channels].
  template <class Taps>
  RUNNEL_VECTOR void sums(Taps from, std::int32_t taps, const std::int8_t* weights, const std::int32_t* bias,
                          int32x4_t (&sum)[4]) noexcept {
    RUNNEL_UNROLL for (int v = 0; v < 4; ++v) sum[v] = vld1q_s32(bias + v * 4);
    _Pragma("GCC unroll 1") for (; taps >= 4; taps -= 4) {
      const auto w = next_row<4>(weights);
      int8x16_t x[4];
      from.four(x);
      add_two_taps<kPairs>(sum, x[0], w.of[0], x[1], w.of[1]);
      add_two_taps<kPairs>(sum, x[2], w.of[2], x[3], w.of[3]);
    }
    if (taps >= 2) {
      const auto w = next_row<2>(weights);
      const int8x16_t first = from.next(), second = from.next();
      add_two_taps<kPairs>(sum, first, w.of[0], second, w.of[1]);
    }
    if (taps % 2 != 0) {
      add_tap(sum, from.next(), vld1q_s8(weights));
    }
  }

  // Weights as those of `sums`.
  template <int kTaps>
  RUNNEL_VECTOR KeptTaps<kTaps, kPairs> taps(const std::int8_t* weights, const std::int32_t* bias) noexcept {
    return {weights, bias};
  }
};

}  // namespace
}  // namespace runnel::kernels
