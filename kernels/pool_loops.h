// Pooling as loops that compilers vectorise, channels side by side. Included once by pool.cpp and by each
// pool_<level>.cpp, compiled for that level's instructions; everything is in an unnamed namespace: no copy
// reaches other files.
#pragma once

#include "kernels/integer_lanes.h"
#include "kernels/pool.h"

namespace runnel::kernels {
namespace {

// The part of a window that is data: rows first, first + dilation, ... below last; columns likewise.
struct Window {
  std::int64_t first_row, last_row, first_column, last_column;
};

inline std::int64_t first_inside(std::int64_t start, std::int64_t low, std::int64_t dilation) noexcept {
  return start >= low ? start : start + (low - start + dilation - 1) / dilation * dilation;
}
inline std::int64_t smaller(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }
inline std::int64_t larger(std::int64_t a, std::int64_t b) noexcept { return a > b ? a : b; }

inline Window window_of(const PoolSpec& spec, const PoolRange& data, std::int64_t row,
                        std::int64_t column) noexcept {
  const std::int64_t top = row * spec.stride_height - spec.pad_top;
  const std::int64_t left = column * spec.stride_width - spec.pad_left;
  return {first_inside(top, larger(data.first_row, 0), spec.dilation_height),
          smaller(smaller(data.last_row, spec.in_height),
                  top + (spec.kernel_height - 1) * std::int64_t{spec.dilation_height} + 1),
          first_inside(left, larger(data.first_column, 0), spec.dilation_width),
          smaller(smaller(data.last_column, spec.in_width),
                  left + (spec.kernel_width - 1) * std::int64_t{spec.dilation_width} + 1)};
}

inline std::int64_t positions(std::int64_t first, std::int64_t last, std::int64_t dilation) noexcept {
  if (dilation == 1) return last > first ? last - first : 0;  // no division
  return last > first ? (last - first + dilation - 1) / dilation : 0;
}

inline float average_scale(const PoolSpec& spec, std::int64_t count) noexcept {
  const std::int64_t area = spec.count_padding ? std::int64_t{spec.kernel_height} * spec.kernel_width : count;
  return power_of_two(spec.x_exponent) * (1.0f / static_cast<float>(area)) * power_of_two(-spec.y_exponent);
}

// f(in) for every position of a window that is data, at channel `start`.
template <class T, class F>
[[gnu::always_inline]] inline void each_position(const PoolSpec& spec, const Window& w, const T* x,
                                                 std::int32_t start, F f) noexcept {
  for (std::int64_t i = w.first_row; i < w.last_row; i += spec.dilation_height) {
    for (std::int64_t j = w.first_column; j < w.last_column; j += spec.dilation_width)
      f(x + (i * spec.in_width + j) * spec.channels + start);
  }
}

// sum / count to the nearest integer, ties away from zero, or up (half_up), as for integers shifted
// to be positive.
inline std::int64_t integer_mean(std::int64_t sum, std::int64_t count, Rounding rounding) noexcept {
  if (rounding != Rounding::half_up) return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
  const std::int64_t up = sum + count / 2;
  return up >= 0 ? up / count : -((count - 1 - up) / count);
}

#if defined(__SSE2__) || defined(__aarch64__)
// Vectors, as compilers do not see through arrays of lanes.
constexpr int kPoolLanes = kIntLanes;
template <class T>
struct PoolVector {
  typedef T V __attribute__((vector_size(kPoolLanes * sizeof(T))));
};
using PoolSums = IntLanes;
using PoolFloats = PoolVector<float>::V;
template <class V>
[[gnu::always_inline]] inline V loaded(const void* from) noexcept {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

// saturate(round_float()) of integers of at most 16 bits.
template <class T>
[[gnu::always_inline]] inline PoolSums rounded_averages(PoolFloats value, bool half_up) noexcept {
  constexpr float kFar = 40000, kShift = 12582912.0f;  // beyond every result; 1.5 * 2^23
  value = value == value ? value : PoolFloats{};
  value = value > kFar ? PoolFloats{} + kFar : value;
  value = value < -kFar ? PoolFloats{} - kFar : value;
  PoolSums integer;
  if (half_up) {
    const PoolFloats up = value + 0.5f;
    integer = __builtin_convertvector(up, PoolSums);
    integer += __builtin_convertvector(integer, PoolFloats) > up;  // true is -1
  } else {
    integer = __builtin_convertvector((value + kShift) - kShift, PoolSums);  // ties to even
  }
  constexpr std::int32_t kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  integer = integer < kLow ? PoolSums{} + kLow : integer;
  return integer > kHigh ? PoolSums{} + kHigh : integer;
}
// The same by a division that vectors have: quotients are integers of at most 16 bits, or at least 2^-24 from
// the next one, so that a double's rounding does not reach it. half_up: of positive numbers.
[[gnu::always_inline]] inline std::int32_t rounded_mean(std::int32_t sum, std::int32_t count,
                                                        bool half_up) noexcept {
#if defined(__AVX2__)
  constexpr double kUp = 65536;
  const std::int32_t half = count / 2;
  const double divisor = count;
  if (half_up)
    return static_cast<std::int32_t>((static_cast<double>(sum) + half + kUp * divisor) / divisor) - 65536;
  return static_cast<std::int32_t>((static_cast<double>(sum) + (sum > 0 ? half : -half)) / divisor);
#else
  return static_cast<std::int32_t>(
      integer_mean(sum, count, half_up ? Rounding::half_up : Rounding::half_even));
#endif
}

template <class T>
[[gnu::always_inline]] inline PoolSums averages(const PoolSpec& spec, std::int64_t count, float scale,
                                                PoolSums sum) noexcept {
  const bool half_up = spec.rounding == Rounding::half_up;
  if (!spec.integer_mean)
    return rounded_averages<T>(__builtin_convertvector(sum, PoolFloats) * scale, half_up);
  PoolSums mean;
  for (int c = 0; c < kPoolLanes; ++c)
    mean[c] = rounded_mean(sum[c], static_cast<std::int32_t>(count), half_up);
  return mean;
}

// One position, kVectors * kPoolLanes channels from `x` and `y` on; count: positions that are data, not 0.
template <class T, int kVectors>
void pool_vectors(const PoolSpec& spec, const Window& w, std::int64_t count, float scale, const T* x,
                  T* y) noexcept {
  using V = typename PoolVector<T>::V;
  if (spec.op == PoolOp::average) {
    PoolSums sum[kVectors] = {};
    each_position(spec, w, x, 0, [&](const T* in) {
      for (int v = 0; v < kVectors; ++v) sum[v] += widened(in + v * kPoolLanes);
    });
    for (int v = 0; v < kVectors; ++v) narrow(averages<T>(spec, count, scale, sum[v]), y + v * kPoolLanes);
    return;
  }
  V best[kVectors];
  for (V& one : best) one = V{} + std::numeric_limits<T>::min();
  each_position(spec, w, x, 0, [&](const T* in) {
    for (int v = 0; v < kVectors; ++v) {
      const V now = loaded<V>(in + v * kPoolLanes);
      best[v] = now > best[v] ? now : best[v];
    }
  });
  const int shift = spec.y_exponent - spec.x_exponent;
  for (int v = 0; v < kVectors; ++v) {
    if (shift != 0) {
      for (int c = 0; c < kPoolLanes; ++c)
        best[v][c] = saturate<T>(round_shift(best[v][c], shift, spec.rounding));
    }
    __builtin_memcpy(y + v * kPoolLanes, &best[v], sizeof best[v]);
  }
}

// Less than a vector of channels.
template <class T>
void pool_few(const PoolSpec& spec, const Window& w, std::int64_t count, float scale, const T* x,
              T* y) noexcept {
  const bool max = spec.op == PoolOp::max;
  PoolSums lane = PoolSums{} + (max ? std::numeric_limits<T>::min() : 0);
  each_position(spec, w, x, 0, [&](const T* in) {
    for (std::int32_t c = 0; c < spec.channels; ++c)
      lane[c] = !max ? lane[c] + in[c] : in[c] > lane[c] ? in[c] : lane[c];
  });
  const PoolSums mean = max ? lane : averages<T>(spec, count, scale, lane);
  const int shift = spec.y_exponent - spec.x_exponent;
  for (std::int32_t c = 0; c < spec.channels; ++c)
    y[c] = max ? saturate<T>(round_shift(lane[c], shift, spec.rounding)) : static_cast<T>(mean[c]);
}

// Sums are exact in int32 below an area of 2^16 (int16) or 2^24 (int8).
template <class T>
void pool_integers(const PoolSpec& spec, const PoolRange& data, const T* x, T* y) noexcept {
  const std::int32_t channels = spec.channels;
  // Of averages; most windows have as many positions as the one before.
  std::int64_t scaled = 0;
  float scale = 0;
  for (std::int64_t row = 0; row < spec.out_height; ++row) {
    for (std::int64_t column = 0; column < spec.out_width; ++column, y += channels) {
      const Window w = window_of(spec, data, row, column);
      const std::int64_t count = positions(w.first_row, w.last_row, spec.dilation_height) *
                                 positions(w.first_column, w.last_column, spec.dilation_width);
      if (count == 0) {
        const T none = spec.op == PoolOp::max ? std::numeric_limits<T>::min() : T{0};
        for (std::int32_t c = 0; c < channels; ++c) y[c] = none;
        continue;
      }
      if (count != scaled && spec.op == PoolOp::average) {
        scaled = count;
        scale = average_scale(spec, count);
      }
      if (channels < kPoolLanes) {
        pool_few(spec, w, count, scale, x, y);
        continue;
      }
      std::int32_t at = 0;
      for (; at + 4 * kPoolLanes <= channels; at += 4 * kPoolLanes)
        pool_vectors<T, 4>(spec, w, count, scale, x + at, y + at);
      if (at + 3 * kPoolLanes <= channels) {
        pool_vectors<T, 3>(spec, w, count, scale, x + at, y + at);
        at += 3 * kPoolLanes;
      } else if (at + 2 * kPoolLanes <= channels) {
        pool_vectors<T, 2>(spec, w, count, scale, x + at, y + at);
        at += 2 * kPoolLanes;
      } else if (at + kPoolLanes <= channels) {
        pool_vectors<T, 1>(spec, w, count, scale, x + at, y + at);
        at += kPoolLanes;
      }
      // The last channels, some of them once more.
      if (at < channels)
        pool_vectors<T, 1>(spec, w, count, scale, x + channels - kPoolLanes, y + channels - kPoolLanes);
    }
  }
}
#else
// Without vectors. Sums are exact as above.
template <class T>
void pool_integers(const PoolSpec& spec, const PoolRange& data, const T* x, T* y) noexcept {
  constexpr std::int32_t kBlock = 128;
  for (std::int64_t row = 0; row < spec.out_height; ++row) {
    for (std::int64_t column = 0; column < spec.out_width; ++column) {
      const Window w = window_of(spec, data, row, column);
      const std::int64_t count = positions(w.first_row, w.last_row, spec.dilation_height) *
                                 positions(w.first_column, w.last_column, spec.dilation_width);
      T* out = y + (row * spec.out_width + column) * spec.channels;
      for (std::int32_t start = 0; start < spec.channels; start += kBlock) {
        const std::int32_t lanes = spec.channels - start < kBlock ? spec.channels - start : kBlock;
        std::int32_t lane[kBlock];
        const bool max = spec.op == PoolOp::max;
        for (std::int32_t& value : lane) value = max ? std::numeric_limits<T>::min() : 0;
        for (std::int64_t i = w.first_row; i < w.last_row; i += spec.dilation_height) {
          for (std::int64_t j = w.first_column; j < w.last_column; j += spec.dilation_width) {
            const T* in = x + (i * spec.in_width + j) * spec.channels + start;
            if (max) {
              for (std::int32_t c = 0; c < lanes; ++c) lane[c] = in[c] > lane[c] ? in[c] : lane[c];
            } else {
              for (std::int32_t c = 0; c < lanes; ++c) lane[c] += in[c];
            }
          }
        }
        if (count == 0) {
          for (std::int32_t c = 0; c < lanes; ++c)
            out[start + c] = max ? std::numeric_limits<T>::min() : T{0};
        } else if (max) {
          const int shift = spec.y_exponent - spec.x_exponent;
          for (std::int32_t c = 0; c < lanes; ++c)
            out[start + c] = saturate<T>(round_shift(lane[c], shift, spec.rounding));
        } else if (spec.integer_mean) {
          for (std::int32_t c = 0; c < lanes; ++c)
            out[start + c] = saturate<T>(integer_mean(lane[c], count, spec.rounding));
        } else {
          const float scale = average_scale(spec, count);
          for (std::int32_t c = 0; c < lanes; ++c) {
            out[start + c] = saturate<T>(round_float(static_cast<float>(lane[c]) * scale, spec.rounding));
          }
        }
      }
    }
  }
}
#endif

// float32: sums in window order, one division. NaN wins a maximum; no data gives the lowest number.
inline void pool_floats(const PoolSpec& spec, const PoolRange& data, const float* x, float* y) noexcept {
  const bool max = spec.op == PoolOp::max;
  for (std::int64_t row = 0; row < spec.out_height; ++row) {
    for (std::int64_t column = 0; column < spec.out_width; ++column, y += spec.channels) {
      const Window w = window_of(spec, data, row, column);
      const std::int64_t count = positions(w.first_row, w.last_row, spec.dilation_height) *
                                 positions(w.first_column, w.last_column, spec.dilation_width);
      for (std::int32_t c = 0; c < spec.channels; ++c)
        y[c] = max ? std::numeric_limits<float>::lowest() : 0.0f;
      if (count == 0) continue;
      for (std::int64_t i = w.first_row; i < w.last_row; i += spec.dilation_height) {
        for (std::int64_t j = w.first_column; j < w.last_column; j += spec.dilation_width) {
          const float* in = x + (i * spec.in_width + j) * spec.channels;
          if (max) {
            for (std::int32_t c = 0; c < spec.channels; ++c)
              y[c] = in[c] > y[c] || in[c] != in[c] ? in[c] : y[c];
          } else {
            for (std::int32_t c = 0; c < spec.channels; ++c) y[c] += in[c];
          }
        }
      }
      if (max) continue;
      const auto area = static_cast<float>(
          spec.count_padding ? std::int64_t{spec.kernel_height} * spec.kernel_width : count);
      for (std::int32_t c = 0; c < spec.channels; ++c) y[c] /= area;
    }
  }
}

template <class T>
void add_rows_of(std::int64_t rows, std::ptrdiff_t step, std::int32_t width, const T* x,
                 std::int32_t* sums) noexcept {
  std::int32_t first = 0;
#if defined(__SSE2__) || defined(__aarch64__)
  constexpr int kVectors = 4;
  for (; first + kVectors * kPoolLanes <= width; first += kVectors * kPoolLanes) {
    PoolSums sum[kVectors];
    for (int v = 0; v < kVectors; ++v) sum[v] = loaded<PoolSums>(sums + first + v * kPoolLanes);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (int v = 0; v < kVectors; ++v) sum[v] += widened(x + row * step + first + v * kPoolLanes);
    }
    for (int v = 0; v < kVectors; ++v)
      __builtin_memcpy(sums + first + v * kPoolLanes, &sum[v], sizeof sum[v]);
  }
#endif
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int32_t k = first; k < width; ++k) sums[k] += x[row * step + k];
  }
}
inline void add_rows_loops(DType dtype, std::int64_t rows, std::ptrdiff_t step, std::int32_t width,
                           const void* x, std::int32_t* sums) noexcept {
  if (dtype == DType::int16)
    add_rows_of(rows, step, width, static_cast<const std::int16_t*>(x), sums);
  else
    add_rows_of(rows, step, width, static_cast<const std::int8_t*>(x), sums);
}

inline void pool_loops(const PoolSpec& spec, const PoolRange& data, const void* x, void* y) noexcept {
  if (spec.dtype == DType::float32)
    pool_floats(spec, data, static_cast<const float*>(x), static_cast<float*>(y));
  else if (spec.dtype == DType::int16)
    pool_integers(spec, data, static_cast<const std::int16_t*>(x), static_cast<std::int16_t*>(y));
  else
    pool_integers(spec, data, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(y));
}

}  // namespace
}  // namespace runnel::kernels
