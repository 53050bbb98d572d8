// Integer convolutions with Helium, the vector unit of Armv8.1-M: sixteen int8 multiply-adds per instruction.
#include <arm_mve.h>

#include "kernels/conv/device/conv_device_loops.h"

namespace runnel::kernels {
namespace {

// The part of a Requant that is the same for all channels, in vector registers.
struct VectorScale {
  [[gnu::always_inline]] explicit VectorScale(const Scale& how) noexcept
      : of(how),
        back(how.step == 0 ? vdupq_n_s32(-how.shift[0]) : vdupq_n_s32(0)),
        low(vdupq_n_s32(how.low)),
        high(vdupq_n_s32(how.high)) {}
  const Scale& of;
  int32x4_t back, low, high;
};

[[gnu::always_inline]] inline int32x4_t load_four(const std::int32_t* from) noexcept {
  return vldrwq_s32(reinterpret_cast<const int32_t*>(from));
}

// requantize() of four accumulators below 2^30, with zero point and clamp, for every rounding but
// Rounding::single, which needs 64 bits. The instruction rounds shifts half up; shifts of 32 and more give 0.
[[gnu::always_inline]] inline int32x4_t requantize_four(int32x4_t value, const VectorScale& how,
                                                        std::int32_t channel) noexcept {
  const int32x4_t back = how.of.step == 0 ? how.back : vnegq_s32(load_four(how.of.shift + channel));
  if (how.of.rounding == Rounding::half_up) {
    value = vqrshlq_s32(value, back);
  } else if (how.of.rounding == Rounding::half_even) {
    const int32x4_t up = vqrshlq_s32(value, back), shift = vnegq_s32(back);
    // A tie: exactly half was added. Compared doubled, so that a shift of 0 has none.
    const int32x4_t added = vsubq_s32(vshlq_s32(up, shift), value);
    const mve_pred16_t tie = vcmpeqq_s32(vshlq_n_s32(added, 1), vshlq_s32(vdupq_n_s32(1), shift));
    value = vandq_m_s32(up, up, vdupq_n_s32(~1), tie);
  } else {  // tflite_double
    // Left shifts before the product, right shifts after it, with ties away from zero.
    const int32x4_t zero = vdupq_n_s32(0), multiplier = how.of.step == 0
                                                            ? vdupq_n_s32(how.of.multiplier[0])
                                                            : load_four(how.of.multiplier + channel);
    const int32x4_t high = vqrdmulhq_s32(vqshlq_s32(value, vmaxq_s32(back, zero)), multiplier);
    const int32x4_t right = vminq_s32(back, zero);
    const int32x4_t away =
        vshrq_n_s32(vandq_s32(high, right), 31);  // -1 for negative numbers that are shifted right
    value = vrshlq_s32(vqaddq_s32(high, away), right);
  }
  value = vqaddq_n_s32(value, how.of.zero_point);
  return vminq_s32(vmaxq_s32(value, how.low), how.high);
}

// y[0..4) from sums, whatever the rounding.
template <bool kAny>
[[gnu::always_inline]] inline void finish_four(int32x4_t sums, const VectorScale& how, std::int32_t channel,
                                               std::int8_t* y) noexcept {
  if (how.of.rounding != Rounding::single) {
    vstrbq_s32(y, requantize_four(sums, how, channel));
    return;
  }
  int32_t four[4];
  vst1q_s32(four, sums);
  for (int i = 0; i < 4; ++i)
    y[i] = static_cast<std::int8_t>(requantize_device<kAny>(four[i], how.of, channel + i));
}

// Sums of products of `count` inputs with four rows of weights, tail included. Assembly, because GCC 12 keeps
// pointers and sums in memory.
[[gnu::always_inline]] inline int32x4_t four_rows(const std::int8_t* x, const std::int8_t* w,
                                                  std::int32_t step, std::int32_t count) noexcept {
  const std::int8_t *w1 = w + step, *w2 = w1 + step, *w3 = w2 + step;
  std::int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
  __asm volatile(
      "dlstp.8 lr, %[count]\n"
      "1: vldrb.8 q0, [%[x]], #16\n"
      "vldrb.8 q1, [%[w0]], #16\n vmladava.s8 %[sum0], q0, q1\n"
      "vldrb.8 q1, [%[w1]], #16\n vmladava.s8 %[sum1], q0, q1\n"
      "vldrb.8 q1, [%[w2]], #16\n vmladava.s8 %[sum2], q0, q1\n"
      "vldrb.8 q1, [%[w3]], #16\n vmladava.s8 %[sum3], q0, q1\n"
      "letp lr, 1b"
      : [x] "+r"(x), [w0] "+r"(w), [w1] "+r"(w1), [w2] "+r"(w2), [w3] "+r"(w3), [sum0] "+Te"(sum0),
        [sum1] "+Te"(sum1), [sum2] "+Te"(sum2), [sum3] "+Te"(sum3)
      : [count] "r"(count)
      : "lr", "q0", "q1", "cc", "memory");
  int32x4_t sums;
  __asm("vmov %q[out][2], %q[out][0], %[a], %[c]\n vmov %q[out][3], %q[out][1], %[b], %[d]"
        : [out] "=w"(sums)
        : [a] "r"(sum0), [b] "r"(sum1), [c] "r"(sum2), [d] "r"(sum3));
  return sums;
}
// One row, and the sum of its weights, which the zero point is multiplied by.
[[gnu::always_inline]] inline void one_row(const std::int8_t* x, const std::int8_t* w, std::int32_t count,
                                           std::int32_t& sum, std::int32_t& weights) noexcept {
  __asm volatile(
      "dlstp.8 lr, %[count]\n"
      "1: vldrb.8 q0, [%[x]], #16\n vldrb.8 q1, [%[w]], #16\n vmladava.s8 %[sum], q0, q1\n vaddva.s8 "
      "%[weights], q1\n"
      "letp lr, 1b"
      : [x] "+r"(x), [w] "+r"(w), [sum] "+Te"(sum), [weights] "+Te"(weights)
      : [count] "r"(count)
      : "lr", "q0", "q1", "cc", "memory");
}
[[gnu::always_inline]] inline void two_rows(const std::int8_t* x, const std::int8_t* w, std::int32_t step,
                                            std::int32_t count, std::int32_t zero_point,
                                            std::int32_t* sums) noexcept {
  const std::int8_t* w1 = w + step;
  std::int32_t sum0 = sums[0], sum1 = sums[1], weights0 = 0, weights1 = 0;
  __asm volatile(
      "dlstp.8 lr, %[count]\n"
      "1: vldrb.8 q0, [%[x]], #16\n"
      "vldrb.8 q1, [%[w0]], #16\n vmladava.s8 %[sum0], q0, q1\n vaddva.s8 %[weights0], q1\n"
      "vldrb.8 q1, [%[w1]], #16\n vmladava.s8 %[sum1], q0, q1\n vaddva.s8 %[weights1], q1\n"
      "letp lr, 1b"
      : [x] "+r"(x), [w0] "+r"(w), [w1] "+r"(w1), [sum0] "+Te"(sum0), [sum1] "+Te"(sum1),
        [weights0] "+Te"(weights0), [weights1] "+Te"(weights1)
      : [count] "r"(count)
      : "lr", "q0", "q1", "cc", "memory");
  sums[0] = sum0 - weights0 * zero_point;
  sums[1] = sum1 - weights1 * zero_point;
}

template <bool kAny>
struct Helium : ChannelByChannel<kAny> {
  static constexpr int kBlock = 4;
  template <class T>
  static constexpr bool kOwnDense = sizeof(T) == 1;

  // `count` is at least 1.
  template <int kCount>
  [[gnu::always_inline]] static void dot(const std::int8_t* x, const std::int8_t* w, std::int32_t step,
                                         std::int32_t count, std::int32_t zero_point,
                                         std::int32_t* sums) noexcept {
    if constexpr (kCount == 1) {
      std::int32_t weights = 0;
      one_row(x, w, count, sums[0], weights);
      sums[0] -= weights * zero_point;
    } else if (zero_point == 0) {
      vst1q_s32(reinterpret_cast<int32_t*>(sums), vaddq_s32(load_four(sums), four_rows(x, w, step, count)));
    } else {
      two_rows(x, w, step, count, zero_point, sums);
      two_rows(x, w + 2 * step, step, count, zero_point, sums + 2);
    }
  }

  template <int kCount>
  [[gnu::always_inline]] static void dot(const std::int16_t* x, const std::int16_t* w, std::int32_t step,
                                         std::int32_t count, std::int32_t, std::int64_t* sums) noexcept {
    // Two rows at a time: sums of 64 bits need two registers each.
    for (int i = 0; i < kCount; i += 2) {
      const std::int16_t *first = w + i * step, *second = first + (kCount == 1 ? 0 : step), *in = x;
      int64_t sum0 = sums[i], sum1 = kCount == 1 ? 0 : sums[i + 1];
      std::int32_t left = count;
      for (; left >= 8; left -= 8, in += 8, first += 8, second += 8) {
        const int16x8_t inputs = vldrhq_s16(in);
        sum0 = vmlaldavaq_s16(sum0, inputs, vldrhq_s16(first));
        if constexpr (kCount != 1) sum1 = vmlaldavaq_s16(sum1, inputs, vldrhq_s16(second));
      }
      if (left > 0) {
        const mve_pred16_t some = vctp16q(static_cast<std::uint32_t>(left));  // zeros past the end
        const int16x8_t inputs = vldrhq_z_s16(in, some);
        sum0 = vmlaldavaq_s16(sum0, inputs, vldrhq_z_s16(first, some));
        if constexpr (kCount != 1) sum1 = vmlaldavaq_s16(sum1, inputs, vldrhq_z_s16(second, some));
      }
      sums[i] = sum0;
      if constexpr (kCount != 1) sums[i + 1] = sum1;
    }
  }

  [[gnu::always_inline]] static void dense_channels(const DensePosition<std::int8_t, std::int32_t>& of,
                                                    const Requant& requant, std::int32_t channel,
                                                    std::int32_t last) noexcept {
    const Scale how(requant);
    const VectorScale vectors(how);
    const std::int8_t *const x = of.x, *weights = of.weights + channel * of.channel_step;
    const std::int32_t step = of.channel_step, count = of.count, zero_point = of.zero_point;
    const std::int32_t* bias = of.bias == nullptr ? nullptr : of.bias + channel;
    std::int8_t* const y = of.y;
    for (; channel + 4 <= last; channel += 4, weights += 4 * step) {
      int32x4_t sums = vdupq_n_s32(0);
      if (bias != nullptr) {
        sums = load_four(bias);
        bias += 4;
      }
      if (zero_point == 0) {
        sums = vaddq_s32(sums, four_rows(x, weights, step, count));
      } else {
        std::int32_t four[4] = {};
        two_rows(x, weights, step, count, zero_point, four);
        two_rows(x, weights + 2 * step, step, count, zero_point, four + 2);
        sums = vaddq_s32(sums, load_four(four));
      }
      finish_four<kAny>(sums, vectors, channel, y + channel);
    }
    for (; channel < last; ++channel, weights += step) {
      std::int32_t sum = of.bias == nullptr ? 0 : of.bias[channel];
      dot<1>(x, weights, step, count, zero_point, &sum);
      finish<1>(&sum, how, channel, y + channel);
    }
  }

  template <int kCount>
  [[gnu::always_inline]] static void finish(const std::int32_t* sums, const Scale& how, std::int32_t channel,
                                            std::int8_t* y) noexcept {
    if constexpr (kCount == 4)
      finish_four<kAny>(load_four(sums), VectorScale(how), channel, y);
    else
      *y = static_cast<std::int8_t>(requantize_device<kAny>(*sums, how, channel));
  }
  using ChannelByChannel<kAny>::finish;

  using ChannelByChannel<kAny>::depthwise;
  // Four channels side by side; their weights are `channel_step` apart.
  static void depthwise(const TapWindow<std::int8_t>& window, const Scale& how, const std::int32_t* bias,
                        std::int32_t channel, std::int32_t last, std::int8_t* y) noexcept {
    const VectorScale vectors(how);
    const uint32x4_t apart = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<std::uint32_t>(window.channel_step));
    const std::int32_t step = window.column_step, columns = window.columns, zero_point = window.zero_point;
    for (; channel + 4 <= last; channel += 4) {
      int32x4_t sum = bias == nullptr ? vdupq_n_s32(0) : load_four(bias + channel);
      const std::int8_t *x_row = window.x + channel, *w_row = window.weights + channel * window.channel_step;
      for (std::int32_t row = 0; row < window.rows;
           ++row, x_row += window.row_step, w_row += window.weight_row_step) {
        const std::int8_t *x = x_row, *w = w_row;
        for (std::int32_t left = columns; left > 0; --left, ++w, x += step) {
          const int32x4_t in = vsubq_n_s32(vldrbq_s32(x), zero_point);
          sum = vaddq_s32(sum, vmulq_s32(in, vldrbq_gather_offset_s32(w, apart)));
        }
      }
      finish_four<kAny>(sum, vectors, channel, y + channel);
    }
    ChannelByChannel<kAny>::depthwise(window, how, bias, channel, last, y);
  }
};

}  // namespace

void run_device_int8(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept {
  run_device<Helium<true>, std::int8_t, std::int32_t>(spec, part, x, y);
}
void run_device_int16(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept {
  run_device<Helium<true>, std::int16_t, std::int64_t>(spec, part, x, y);
}

void rom_dense_int8(const void* of, const void* x, const void*, void* y) noexcept {
  run_constant<Helium<false>>(*static_cast<const RomDense*>(of), x, y);
}
void rom_depthwise_int8(const void* of, const void* x, const void*, void* y) noexcept {
  run_constant<Helium<false>>(*static_cast<const RomDepthwise*>(of), x, y);
}

}  // namespace runnel::kernels
