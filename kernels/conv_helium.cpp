// Convolutions with Helium, the vector unit of Armv8.1-M: sixteen multiply-adds of int8 an instruction. Integers only.
#include <arm_mve.h>

#include "kernels/conv_device_loops.h"
#include "kernels/finish_device.h"

namespace runnel::kernels {
namespace {

// Entries of four channels, or four times the one that there is.
[[gnu::always_inline]] inline int32x4_t entries(const std::int32_t* from, const Requant& how, std::int32_t channel) noexcept {
  return how.count == 1 ? vdupq_n_s32(from[0]) : vldrwq_s32(reinterpret_cast<const int32_t*>(from + channel));
}

// requantize() of four accumulators below 2^30 with the zero point and the clamp. Shifts are rounded half up by the instruction, and those of 32
// and more give 0.
[[gnu::always_inline]] inline int32x4_t requantize_four(int32x4_t value, const Requant& how, std::int32_t channel) noexcept {
  const int32x4_t shift = entries(how.shift, how, channel), back = vnegq_s32(shift);
  switch (how.rounding) {
    case Rounding::half_up: value = vqrshlq_s32(value, back); break;
    case Rounding::half_even: {
      const int32x4_t up = vqrshlq_s32(value, back);
      // What was added is exactly half: a tie. Twice that, so that a shift of 0 has none.
      const int32x4_t added = vsubq_s32(vshlq_s32(up, shift), value);
      const mve_pred16_t tie = vcmpeqq_s32(vshlq_n_s32(added, 1), vshlq_s32(vdupq_n_s32(1), shift));
      value = vandq_m_s32(up, up, vdupq_n_s32(~1), tie);
      break;
    }
    default: {   // tflite_double
      // Left shifts come before the product, right ones behind it, with ties away from zero.
      const int32x4_t zero = vdupq_n_s32(0);
      const int32x4_t high = vqrdmulhq_s32(vqshlq_s32(value, vmaxq_s32(back, zero)), entries(how.multiplier, how, channel));
      const int32x4_t right = vminq_s32(back, zero);
      const int32x4_t away = vshrq_n_s32(vandq_s32(high, right), 31);   // -1 for negative numbers that are shifted
      value = vrshlq_s32(vqaddq_s32(high, away), right);
      break;
    }
  }
  value = vqaddq_n_s32(value, how.zero_point);
  return vminq_s32(vmaxq_s32(value, vdupq_n_s32(how.low)), vdupq_n_s32(how.high));
}

struct Helium {
  static constexpr int kBlock = 4;

  template <int kCount>
  [[gnu::always_inline]] static void dot(const std::int8_t* x, const std::int8_t* w, std::int32_t step, std::int32_t count, std::int32_t zero_point, std::int32_t* sums) noexcept {
    int32_t sum[kCount], all[kCount] = {};   // all: sums of weights, for the zero point
    for (int i = 0; i < kCount; ++i) sum[i] = sums[i];
    const std::int8_t* row[kCount];
    for (int i = 0; i < kCount; ++i) row[i] = w + i * step;
    std::int32_t left = count;
    if (zero_point == 0) {
      for (; left >= 16; left -= 16, x += 16) {
        const int8x16_t in = vldrbq_s8(x);
#pragma GCC unroll 4
        for (int i = 0; i < kCount; ++i) {
          sum[i] = vmladavaq_s8(sum[i], in, vldrbq_s8(row[i]));
          row[i] += 16;
        }
      }
      if (left > 0) {
        const mve_pred16_t some = vctp8q(static_cast<std::uint32_t>(left));
        const int8x16_t in = vldrbq_z_s8(x, some);   // zeros behind the end
#pragma GCC unroll 4
        for (int i = 0; i < kCount; ++i) sum[i] = vmladavaq_s8(sum[i], in, vldrbq_z_s8(row[i], some));
      }
      for (int i = 0; i < kCount; ++i) sums[i] = sum[i];
      return;
    }
    for (; left >= 16; left -= 16, x += 16) {
      const int8x16_t in = vldrbq_s8(x);
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) {
        const int8x16_t weights = vldrbq_s8(row[i]);
        sum[i] = vmladavaq_s8(sum[i], in, weights);
        all[i] = vaddvaq_s8(all[i], weights);
        row[i] += 16;
      }
    }
    if (left > 0) {
      const mve_pred16_t some = vctp8q(static_cast<std::uint32_t>(left));
      const int8x16_t in = vldrbq_z_s8(x, some);
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) {
        const int8x16_t weights = vldrbq_z_s8(row[i], some);
        sum[i] = vmladavaq_s8(sum[i], in, weights);
        all[i] = vaddvaq_s8(all[i], weights);
      }
    }
    for (int i = 0; i < kCount; ++i) sums[i] = sum[i] - all[i] * zero_point;
  }

  template <int kCount>
  [[gnu::always_inline]] static void dot(const std::int16_t* x, const std::int16_t* w, std::int32_t step, std::int32_t count, std::int32_t, std::int64_t* sums) noexcept {
    std::int32_t k = 0;
    for (; k + 8 <= count; k += 8) {
      const int16x8_t in = vldrhq_s16(x + k);
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) sums[i] = vmlaldavaq_s16(sums[i], in, vldrhq_s16(w + i * step + k));
    }
    if (k == count) return;
    const mve_pred16_t some = vctp16q(static_cast<std::uint32_t>(count - k));
    const int16x8_t in = vldrhq_z_s16(x + k, some);
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) sums[i] = vmlaldavaq_s16(sums[i], in, vldrhq_z_s16(w + i * step + k, some));
  }

  template <int kCount>
  [[gnu::always_inline]] static void finish(const std::int32_t* sums, const Requant& how, std::int32_t channel, std::int8_t* y) noexcept {
    if constexpr (kCount == 4) {
      // 64 bits are needed for one rounding.
      if (how.rounding != Rounding::single) {
        const int32x4_t value = {static_cast<int32_t>(sums[0]), static_cast<int32_t>(sums[1]), static_cast<int32_t>(sums[2]), static_cast<int32_t>(sums[3])};
        vstrbq_s32(y, requantize_four(value, how, channel));
        return;
      }
    }
    for (int i = 0; i < kCount; ++i) y[i] = static_cast<std::int8_t>(requantize_device(sums[i], how, channel + i));
  }
  template <int kCount>
  [[gnu::always_inline]] static void finish(const std::int64_t* sums, const Requant& how, std::int32_t channel, std::int16_t* y) noexcept {
    for (int i = 0; i < kCount; ++i) y[i] = requantize_wide(sums[i], how, channel + i);
  }

  // Four channels side by side; their weights are `channel_step` apart.
  static void depthwise(const TapWindow<std::int8_t>& window, const Requant& how, const std::int32_t* bias, std::int32_t channel, std::int32_t last, std::int8_t* y) noexcept {
    const uint32x4_t apart = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<std::uint32_t>(window.channel_step));
    for (; channel + 4 <= last; channel += 4) {
      int32x4_t sum = bias == nullptr ? vdupq_n_s32(0) : vldrwq_s32(reinterpret_cast<const int32_t*>(bias + channel));
      const std::int8_t *x_row = window.x + channel, *w_row = window.weights + channel * window.channel_step;
      for (std::int32_t row = 0; row < window.rows; ++row, x_row += window.row_step, w_row += window.weight_row_step) {
        const std::int8_t *x = x_row, *w = w_row;
        const std::int8_t* const end = w + window.columns;
        for (; w != end; ++w, x += window.column_step) {
          const int32x4_t in = vsubq_n_s32(vldrbq_s32(x), window.zero_point);
          sum = vaddq_s32(sum, vmulq_s32(in, vldrbq_gather_offset_s32(w, apart)));
        }
      }
      if (how.rounding != Rounding::single) {
        vstrbq_s32(y + channel, requantize_four(sum, how, channel));
      } else {
        alignas(16) int32_t four[4];
        vst1q_s32(four, sum);
        for (int i = 0; i < 4; ++i) y[channel + i] = static_cast<std::int8_t>(requantize_device(four[i], how, channel + i));
      }
    }
    for (; channel < last; ++channel) {
      const std::int32_t sum = depthwise_sum(window, bias == nullptr ? 0 : bias[channel], channel);
      y[channel] = static_cast<std::int8_t>(requantize_device(sum, how, channel));
    }
  }
  static void depthwise(const TapWindow<std::int16_t>& window, const Requant& how, const std::int64_t* bias, std::int32_t channel, std::int32_t last, std::int16_t* y) noexcept {
    for (; channel < last; ++channel) y[channel] = requantize_wide(depthwise_sum(window, bias == nullptr ? 0 : bias[channel], channel), how, channel);
  }
};

}  // namespace

void run_device_int8(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept { run_device<Helium, std::int8_t, std::int32_t>(spec, part, x, y); }
void run_device_int16(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept { run_device<Helium, std::int16_t, std::int64_t>(spec, part, x, y); }

}  // namespace runnel::kernels
