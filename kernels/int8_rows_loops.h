// The kernels of int8_rows.h as loops that compilers vectorise. Included once by each int8_rows_<level>.cpp,
// compiled for that level's instructions; everything is in an unnamed namespace: no copy reaches other files.
#pragma once

#include "kernels/elementwise/truncated.h"
#include "kernels/int8_rows.h"
#if !defined(__riscv_vector)  // which has products of its own (rvv/int8_rows_rvv.cpp)
#include "kernels/packed_bytes_loops.h"
#endif

namespace runnel::kernels {
namespace {

std::int32_t dot(std::size_t count, const std::int8_t* a, const std::int8_t* b) noexcept {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::int32_t{a[i]} * b[i];
  return sum;
}

// Magnitudes are compared as integers, in whose order floats without sign are; NaN counts as 0.
float quantize(std::size_t count, const float* x, std::int8_t* q) noexcept {
  std::int32_t most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffff;
    bits = bits > 0x7f800000 ? 0 : bits;
    most = bits > most ? bits : most;
  }
  float largest;
  __builtin_memcpy(&largest, &most, sizeof largest);
  if (most == 0) {
    for (std::size_t i = 0; i < count; ++i) q[i] = 0;
    return 1;
  }
  const float inverse = 127.0f / largest;
  for (std::size_t i = 0; i < count; ++i) {
    float value = x[i] * inverse;
    value = value == value ? value : 0.0f;
    value = value > 127.0f ? 127.0f : value;
    value = value < -127.0f ? -127.0f : value;
    // The largest float below one half, with the sign of the value: added to it, truncation rounds to
    // nearest with ties away from zero.
    value += __builtin_copysignf(0x1.fffffep-2f, value);
    q[i] = static_cast<std::int8_t>(truncated(value));
  }
  return largest / 127.0f;
}

void widen(std::size_t count, const std::int8_t* q, float* to) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = q[i];
}

void scale_back(std::int64_t rows, std::int64_t channels, float scale, const float* scales, bool per_channel,
                const float* bias, bool relu, float* y) noexcept {
  for (std::int64_t row = 0; row < rows; ++row, y += channels) {
    if (bias == nullptr)
      for (std::int64_t c = 0; c < channels; ++c) y[c] = y[c] * (scale * scales[per_channel ? c : 0]) + 0.0f;
    else
      for (std::int64_t c = 0; c < channels; ++c)
        y[c] = (y[c] + 0.0f) * (scale * scales[per_channel ? c : 0]) + bias[c];
    if (relu)
      for (std::int64_t c = 0; c < channels; ++c) y[c] = y[c] < 0 ? 0 : y[c];
  }
}

#if !defined(__riscv_vector)
constexpr Int8Rows kRows{dot, quantize, widen, scale_back, products};
#endif

}  // namespace
}  // namespace runnel::kernels
