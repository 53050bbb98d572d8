// Convolutions for RISC-V microcontrollers, which have no vectors: four channels side by side read each input
// once.
#include "kernels/conv/device/conv_device_loops.h"

namespace runnel::kernels {
namespace {

template <bool kAny>
struct Scalar : ChannelByChannel<kAny> {
  static constexpr int kBlock = 4;
  template <class T>
  static constexpr bool kOwnDense = false;

  // Floor: five loads, four products and four sums for four multiply-adds, 3.25 instructions each.
  template <int kCount, class T, class Sum>
  [[gnu::always_inline]] static void dot(const T* x, const T* w, std::int32_t step, std::int32_t count,
                                         std::int32_t zero_point, Sum* sums) noexcept {
    if (zero_point == 0)
      add<kCount, false>(x, w, step, count, 0, sums);
    else
      add<kCount, true>(x, w, step, count, zero_point, sums);
  }

  template <int kCount>
  [[gnu::always_inline]] static void finish(const std::int32_t* sums, const Scale& how, std::int32_t channel,
                                            std::int8_t* y) noexcept {
    for (int i = 0; i < kCount; ++i)
      y[i] = static_cast<std::int8_t>(requantize_device<kAny>(sums[i], how, channel + i));
  }
  using ChannelByChannel<kAny>::finish;

 private:
  template <int kCount, bool kZero, class T, class Sum>
  [[gnu::always_inline]] static void add(const T* x, const T* w, std::int32_t step, std::int32_t count,
                                         std::int32_t zero_point, Sum* sums) noexcept {
    const T* row[kCount];
    Sum sum[kCount];
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) row[i] = w + i * step, sum[i] = sums[i];
    const auto one = [&](int at) __attribute__((always_inline)) {
      const auto value = static_cast<Sum>(x[at] - (kZero ? zero_point : 0));
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) sum[i] += value * row[i][at];
    };
    std::int32_t left = count;
    for (; left >= 4; left -= 4, x += 4) {
#pragma GCC unroll 4
      for (int at = 0; at < 4; ++at) one(at);
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) row[i] += 4;
    }
    for (; left > 0; --left, ++x) {
      one(0);
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) ++row[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) sums[i] = sum[i];
  }
};

}  // namespace

void run_device_int8(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept {
  run_device<Scalar<true>, std::int8_t, std::int32_t>(spec, part, x, y);
}
void run_device_int16(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept {
  run_device<Scalar<true>, std::int16_t, std::int64_t>(spec, part, x, y);
}

void rom_dense_int8(const void* of, const void* x, const void*, void* y) noexcept {
  run_constant<Scalar<false>>(*static_cast<const RomDense*>(of), x, y);
}
void rom_depthwise_int8(const void* of, const void* x, const void*, void* y) noexcept {
  run_constant<Scalar<false>>(*static_cast<const RomDepthwise*>(of), x, y);
}

}  // namespace runnel::kernels
