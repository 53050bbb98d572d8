// Convolutions with the DSP extension of Cortex-M4, M7 and M33: two 16-bit multiply-adds per instruction.
#include <cstring>

#include "kernels/conv/device/conv_device_loops.h"

namespace runnel::kernels {
namespace {

// Processors can be configured to trap on unaligned words: rows that do not start at a multiple of 4 are read
// byte by byte.
template <class T>
[[gnu::always_inline]] inline bool aligned(const T* a, const T* b, std::int32_t step) noexcept {
  return ((reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) |
           static_cast<std::uint32_t>(step) * sizeof(T)) &
          3) == 0;
}
template <class T>
[[gnu::always_inline]] inline std::uint32_t load_word(const T* from) noexcept {
  std::uint32_t word = 0;
  std::memcpy(&word, __builtin_assume_aligned(from, 4), sizeof word);
  return word;
}
// Four inputs times the weights of one channel, and of two. Bytes 0 and 2, then 1 and 3, are sign-extended to
// 16 bits; `minus` is added to the inputs. One block of assembly, because the compiler would load everything
// first and run out of registers.
[[gnu::always_inline]] inline void four_inputs(const std::int8_t*& x, const std::int8_t*& w,
                                               std::uint32_t minus, std::int32_t& sum) noexcept {
  std::uint32_t even = 0, odd = 0, weights = 0, pair = 0;
  __asm volatile(
      "ldr %[odd], [%[x]], #4\n ldr %[weights], [%[w]], #4\n"
      "sxtab16 %[even], %[minus], %[odd]\n sxtab16 %[odd], %[minus], %[odd], ror #8\n"
      "sxtb16 %[pair], %[weights]\n sxtb16 %[weights], %[weights], ror #8\n"
      "smlad %[sum], %[even], %[pair], %[sum]\n smlad %[sum], %[odd], %[weights], %[sum]"
      : [x] "+r"(x), [w] "+r"(w), [sum] "+r"(sum), [even] "=&r"(even), [odd] "=&r"(odd),
        [weights] "=&r"(weights), [pair] "=&r"(pair)
      : [minus] "r"(minus)
      : "memory");
}
[[gnu::always_inline]] inline void four_inputs(const std::int8_t*& x, const std::int8_t*& w,
                                               const std::int8_t*& v, std::uint32_t minus, std::int32_t& sum0,
                                               std::int32_t& sum1) noexcept {
  std::uint32_t even = 0, odd = 0, weights = 0, pair = 0;
  __asm volatile(
      "ldr %[odd], [%[x]], #4\n ldr %[weights], [%[w]], #4\n"
      "sxtab16 %[even], %[minus], %[odd]\n sxtab16 %[odd], %[minus], %[odd], ror #8\n"
      "sxtb16 %[pair], %[weights]\n sxtb16 %[weights], %[weights], ror #8\n"
      "smlad %[sum0], %[even], %[pair], %[sum0]\n smlad %[sum0], %[odd], %[weights], %[sum0]\n"
      "ldr %[weights], [%[v]], #4\n"
      "sxtb16 %[pair], %[weights]\n sxtb16 %[weights], %[weights], ror #8\n"
      "smlad %[sum1], %[even], %[pair], %[sum1]\n smlad %[sum1], %[odd], %[weights], %[sum1]"
      : [x] "+r"(x), [w] "+r"(w), [v] "+r"(v), [sum0] "+r"(sum0), [sum1] "+r"(sum1), [even] "=&r"(even),
        [odd] "=&r"(odd), [weights] "=&r"(weights), [pair] "=&r"(pair)
      : [minus] "r"(minus)
      : "memory");
}
[[gnu::always_inline]] inline std::int64_t smlald(std::uint32_t a, std::uint32_t b,
                                                  std::int64_t sum) noexcept {
  __asm("smlald %Q0, %R0, %1, %2" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}

template <bool kAny>
struct Dsp : ChannelByChannel<kAny> {
  static constexpr int kBlock = 2;
  template <class T>
  static constexpr bool kOwnDense = false;

  template <int kCount>
  [[gnu::always_inline]] static void dot(const std::int8_t* x, const std::int8_t* w, std::int32_t step,
                                         std::int32_t count, std::int32_t zero_point,
                                         std::int32_t* sums) noexcept {
    std::int32_t left = count;
    const std::int8_t* second = w + (kCount - 1) * step;
    std::int32_t sum0 = sums[0], sum1 = sums[kCount - 1];
    if (aligned(x, w, kCount == 1 ? 0 : step)) {
      const std::uint32_t minus = static_cast<std::uint32_t>(-zero_point & 0xFFFF) * 0x10001U;
      const auto four = [&]() __attribute__((always_inline)) {
        if constexpr (kCount == 2)
          four_inputs(x, w, second, minus, sum0, sum1);
        else
          four_inputs(x, w, minus, sum0);
      };
      for (; left >= 16; left -= 16) {
        four();
        four();
        four();
        four();
      }
      for (; left >= 4; left -= 4) four();
    }
    for (; left > 0; --left) {
      const std::int32_t value = *x++ - zero_point;
      sum0 += value * *w++;
      if constexpr (kCount == 2) sum1 += value * *second++;
    }
    sums[0] = sum0;
    if constexpr (kCount == 2) sums[1] = sum1;
  }

  template <int kCount>
  [[gnu::always_inline]] static void dot(const std::int16_t* x, const std::int16_t* w, std::int32_t step,
                                         std::int32_t count, std::int32_t, std::int64_t* sums) noexcept {
    std::int32_t k = 0;
    if (aligned(x, w, kCount == 1 ? 0 : step)) {
      for (; k + 2 <= count; k += 2) {
        const std::uint32_t pair = load_word(x + k);
        for (int i = 0; i < kCount; ++i) sums[i] = smlald(pair, load_word(w + i * step + k), sums[i]);
      }
    }
    for (; k < count; ++k) {
      for (int i = 0; i < kCount; ++i) sums[i] += std::int32_t{x[k]} * w[i * step + k];
    }
  }

  template <int kCount>
  [[gnu::always_inline]] static void finish(const std::int32_t* sums, const Scale& how, std::int32_t channel,
                                            std::int8_t* y) noexcept {
    for (int i = 0; i < kCount; ++i)
      y[i] = static_cast<std::int8_t>(requantize_device<kAny>(sums[i], how, channel + i));
  }
  using ChannelByChannel<kAny>::finish;
};

}  // namespace

void run_device_int8(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept {
  run_device<Dsp<true>, std::int8_t, std::int32_t>(spec, part, x, y);
}
void run_device_int16(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept {
  run_device<Dsp<true>, std::int16_t, std::int64_t>(spec, part, x, y);
}

void rom_dense_int8(const void* of, const void* x, const void*, void* y) noexcept {
  run_constant<Dsp<false>>(*static_cast<const RomDense*>(of), x, y);
}
void rom_depthwise_int8(const void* of, const void* x, const void*, void* y) noexcept {
  run_constant<Dsp<false>>(*static_cast<const RomDepthwise*>(of), x, y);
}

}  // namespace runnel::kernels
