// The loops of a frame other than the FFT, for any width. See kernels.h for their definitions and lanes.h for
// how this file is compiled.
#pragma once

#include "features/simd/kernels.h"
#include "features/simd/lanes.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace runnel::features {
namespace {

// Adds halves until one lane is left: the fixed end of every sum.
template <int N>
RUNNEL_LANES_INLINE float fold(float* lanes) {
  if constexpr (N > 1) {
    constexpr int kHalf = N / 2;
    for (int i = 0; i < kHalf; ++i) lanes[i] += lanes[i + kHalf];
    return fold<kHalf>(lanes);
  }
  return lanes[0];
}

constexpr int kSumLanes = 32;

// Without vectors: a few sums at a time, which stay in registers. Each has the same order.
template <class Term>
RUNNEL_LANES_INLINE std::size_t add_lanes_apart(std::size_t count, Term term, float* lanes) {
  constexpr std::size_t kTogether = 8;
  const std::size_t whole = count / kSumLanes * kSumLanes;
  for (std::size_t first = 0; first < kSumLanes; first += kTogether) {
    float sums[kTogether] = {};
    for (std::size_t i = first; i < whole; i += kSumLanes) {
      for (std::size_t j = 0; j < kTogether; ++j) sums[j] += term.template at<1>(i + j);
    }
    for (std::size_t j = 0; j < kTogether; ++j) lanes[first + j] = sums[j];
  }
  return whole;
}

template <int W, class Term>
RUNNEL_LANES_INLINE float sum_lanes(std::size_t count, Term term) {
  if constexpr (W == 1) {
    float lanes[kSumLanes];
    std::size_t i = add_lanes_apart(count, term, lanes);
    for (int j = 0; i < count; ++i, ++j) lanes[j] += term.template at<1>(i);
    return fold<kSumLanes>(lanes);
  }
  F<W> sums[kSumLanes / W] = {};
  std::size_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes) {
    for (int j = 0; j < kSumLanes / W; ++j)
      sums[j] += term.template at<W>(i + static_cast<std::size_t>(j) * W);
  }
  float lanes[kSumLanes];
  for (int j = 0; j < kSumLanes / W; ++j) store<W>(lanes + j * W, sums[j]);
  for (int j = 0; i < count; ++i, ++j) lanes[j] += term.template at<1>(i);
  return fold<kSumLanes>(lanes);
}

struct PlainTerm {
  const float* x;
  template <int W>
  RUNNEL_LANES_INLINE F<W> at(std::size_t i) const {
    return load<W>(x + i);
  }
};
struct SquareTerm {
  const float* x;
  float offset;
  template <int W>
  RUNNEL_LANES_INLINE F<W> at(std::size_t i) const {
    const F<W> d = load<W>(x + i) - offset;
    return d * d;
  }
};

template <int W>
float sum(const float* x, std::size_t count) noexcept {
  return sum_lanes<W>(count, PlainTerm{x});
}
template <int W>
float sum_of_squares(const float* x, std::size_t count, float offset) noexcept {
  return sum_lanes<W>(count, SquareTerm{x, offset});
}

// Calls step<width>(i) with full vectors, then with single elements.
template <int W, class Step>
RUNNEL_LANES_INLINE void for_each_lane(std::size_t first, std::size_t count, Step step) {
  std::size_t i = first;
  if constexpr (W > 1) {
    for (; i + W <= count; i += W) step.template operator()<W>(i);
  }
  // Four at a time: one address for all.
  if constexpr (W == 1) {
    for (; i + 4 <= count; i += 4) {
      for (std::size_t j = 0; j < 4; ++j) step.template operator()<1>(i + j);
    }
  }
  for (; i < count; ++i) step.template operator()<1>(i);
}

template <int W>
void shape_frame(const float* x, std::size_t count, float mean, float emphasis, const float* window,
                 float* to) noexcept {
  const float first = x[0] - mean;
  to[0] = (first - emphasis * first) * window[0];
  if constexpr (W == 1) {
    float before = first;
    const auto one = [&](std::size_t i) __attribute__((always_inline)) {
      const float now = x[i] - mean;
      to[i] = (now - before * emphasis) * window[i];
      before = now;
    };
    std::size_t i = 1;
    for (; i + 4 <= count; i += 4) {
      for (std::size_t j = 0; j < 4; ++j) one(i + j);
    }
    for (; i < count; ++i) one(i);
    return;
  }
  for_each_lane<W>(
      1, count, [=]<int V>(std::size_t i) __attribute__((always_inline)) {
        const F<V> now = load<V>(x + i) - mean, before = load<V>(x + i - 1) - mean;
        store<V>(to + i, (now - before * emphasis) * load<V>(window + i));
      });
}

template <int W>
void power(const float* re, const float* im, std::size_t count, float* to) noexcept {
  for_each_lane<W>(
      0, count, [=]<int V>(std::size_t i) __attribute__((always_inline)) {
        const F<V> a = load<V>(re + i), b = load<V>(im + i);
        store<V>(to + i, a * a + b * b);
      });
}

template <int W>
void square_root(float* x, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) x[i] = __builtin_sqrtf(x[i]);
}

template <int W>
RUNNEL_LANES_INLINE F<W> larger(F<W> x, F<W> floor) {  // NaN gives floor
  return x > floor ? x : floor;
}

template <int W>
void floor_at(float* x, std::size_t count, float floor) noexcept {
  for_each_lane<W>(
      0, count, [=]<int V>(std::size_t i) __attribute__((always_inline)) {
        store<V>(x + i, larger<V>(load<V>(x + i), splat<V>(floor)));
      });
}

// x = 2^e m with m in [0.75, 1.5): ln x = e ln 2 + ln(1 + f), f = m - 1. ln(1 + f) = f - f^2/2 + f^3 P(f); P
// is a minimax fit on [-0.25, 0.5] with an error below 2^-27 of the logarithm. The parts are added from
// small to large.
constexpr float kLogCoefficients[] = {0.03767276182770729F,  -0.09116173535585403F, 0.1170065850019455F,
                                      -0.12727780640125275F, 0.14276239275932312F,  -0.16655296087265015F,
                                      0.19999605417251587F,  -0.2500016391277313F,  0.33333340287208557F};

template <int W>
RUNNEL_LANES_INLINE F<W> log_of(F<W> x) {
  constexpr float kLargest = 3.4028234663852886e38F;
  x = x < splat<W>(kLargest) ? x : splat<W>(kLargest);
  const I<W> bits = bits_of<W>(x), three_quarters = splat_int<W>(0x3f400000);
  const I<W> exponent = (bits - three_quarters) >> 23;
  const F<W> f = float_of_bits<W>(bits - (exponent << 23)) - 1.0F, e = to_float<W>(exponent), square = f * f;
  F<W> p = splat<W>(kLogCoefficients[0]);
  for (int i = 1; i < 9; ++i) p = p * f + kLogCoefficients[i];
  constexpr float kLn2High = 0.693359375F,
                  kLn2Low = -2.12194440e-4F;  // the high part times any exponent is exact
  const F<W> tail = (p * f * square + e * kLn2Low) - square * 0.5F;
  return (tail + f) + e * kLn2High;
}

template <int W>
void log(float* x, std::size_t count, float floor) noexcept {
  if constexpr (W == 1) {
    for (std::size_t i = 0; i < count; ++i) x[i] = log_of<1>(larger<1>(x[i], floor));
    return;
  }
  for_each_lane<W>(
      0, count, [=]<int V>(std::size_t i) __attribute__((always_inline)) {
        store<V>(x + i, log_of<V>(larger<V>(load<V>(x + i), splat<V>(floor))));
      });
}

// Filter by filter.
[[maybe_unused]] void mel_single(const MelRows& rows, const float* power, float* to) noexcept {
  for (std::int32_t b = 0; b < rows.filters; ++b) {
    const float* p = power + rows.bins[b];
    float energy = 0;
    const float *w = rows.weights + rows.first_row[b], *const last = rows.weights + rows.first_row[b + 1];
    for (; last - w >= 4; w += 4, p += 4) {
      for (int j = 0; j < 4; ++j) energy += w[j] * p[j];
    }
    while (w != last) energy += *w++ * *p++;
    to[b] = energy;
  }
}

// Single loads: the gather instruction is slower on many processors and faster on few.
template <int W>
RUNNEL_LANES_INLINE F<W> gather(const float* base, const std::int32_t* index) {
  F<W> v;
  for (int i = 0; i < W; ++i) v[i] = base[index[i]];
  return v;
}

// Rows first .. last of W filters, added to `energy`.
template <int W>
RUNNEL_LANES_INLINE F<W> add_rows(const MelRows& rows, const float* power, std::int32_t first,
                                  std::int32_t last, F<W> energy) {
  for (std::int32_t row = first; row < last; ++row) {
    const std::size_t at = static_cast<std::size_t>(row) * W;
    energy += load<W>(rows.weights + at) * gather<W>(power, rows.bins + at);
  }
  return energy;
}

#if defined(__AVX2__)
// The same for eight filters, from the first row of their group on: a filter's bins are consecutive, so one
// load gives four of them and a transposition gives four rows, instead of eight loads per row: a third less
// time for the 40 filters of 512 points. Filters that have ended read what follows, times 0; if that is
// infinite, the sum is not finite and is recomputed as above.
RUNNEL_LANES_INLINE F<8> add_rows_by_fours(const MelRows& rows, const float* power, std::int32_t first,
                                           std::int32_t last) {
  const std::size_t top = static_cast<std::size_t>(first) * 8;
  const float* from[8];
  std::int32_t furthest = 0;
  for (std::size_t lane = 0; lane < 8; ++lane) {
    const std::int32_t bin = rows.bins[top + lane];
    const std::int32_t start = bin == rows.zero_bin ? 0 : bin;  // 0 without a filter
    from[lane] = power + start;
    furthest = start > furthest ? start : furthest;
  }
  const std::int32_t count = last - first, readable = rows.zero_bin + 1 - furthest;
  F<8> energy = {};
  // Rows `at` to `at` + 3, of which `most` are added.
  const auto add_four = [&](std::int32_t at, std::int32_t most) __attribute__((always_inline)) {
    const auto pair = [&](int lane) __attribute__((always_inline)) {
      return (F<8>)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from[lane] + at)),
                                        _mm_loadu_ps(from[lane + 4] + at), 1);
    };
    F<8> row[4];
    transpose_quads<8>(pair(0), pair(1), pair(2), pair(3), row);
    const float* const weights = rows.weights + top + static_cast<std::size_t>(at) * 8;
    for (std::int32_t k = 0; k < 4 && k < most; ++k) energy += load<8>(weights + k * 8) * row[k];
  };
  std::int32_t row = 0;
  for (; row + 4 <= count && row + 4 <= readable; row += 4) add_four(row, 4);
  if (row < count && row + 4 <= readable) {
    add_four(row, count - row);
    row = count;
  }
  energy = add_rows<8>(rows, power, first + row, last, energy);
  if (_mm256_movemask_ps((__m256)(energy - energy != F<8>{})) != 0)
    return add_rows<8>(rows, power, first, last, F<8>{});
  return energy;
}
#endif

// W filters in parallel, or filter by filter where the rows are laid out for that.
template <int W>
void mel(const MelRows& rows, const float* power, float* to) noexcept {
  if constexpr (W < 8) {
    mel_single(rows, power, to);
  } else {
    if (rows.lanes == 1) return mel_single(rows, power, to);
    for (std::int32_t group = 0; group * W < rows.filters; ++group) {
      const std::int32_t first = rows.first_row[group], last = rows.first_row[group + 1];
#if defined(__AVX2__)
      if constexpr (W == 8) {
        store<W>(to + group * W, add_rows_by_fours(rows, power, first, last));
        continue;
      }
#endif
      store<W>(to + group * W, add_rows<W>(rows, power, first, last, F<W>{}));
    }
  }
}

template <int W>
void times_matrix(const float* x, std::size_t count, const float* matrix, std::size_t stride,
                  float* to) noexcept {
  for (std::size_t k = 0; k < stride; k += W) {
    F<W> sums[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
      for (std::size_t j = 0; j < 8; ++j) sums[j] += load<W>(matrix + (i + j) * stride + k) * x[i + j];
    }
    for (std::size_t j = 0; i < count; ++i, ++j) sums[j] += load<W>(matrix + i * stride + k) * x[i];
    for (std::size_t half = 4; half > 0; half /= 2) {
      for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
    }
    store<W>(to + k, sums[0]);
  }
}

template <int W>
std::size_t copy_finite(const float* x, std::size_t count, float gain, float* to) noexcept {
  std::size_t bad = 0;
  const auto one = [](float v) { return v - v == 0.0F; };
  std::size_t i = 0;
  if constexpr (W > 1) {
    for (; i + W <= count; i += W) {
      const F<W> v = load<W>(x + i), zero = {};
      const F<W> kept = v - v == zero ? v : zero;  // infinity and NaN minus themselves are NaN
      store<W>(to + i, kept * gain);
      I<W> wrong = v - v != zero;
      std::int64_t any[W / 2];
      __builtin_memcpy(any, &wrong, sizeof any);
      std::int64_t together = 0;
      for (const std::int64_t word : any) together |= word;
      if (together != 0) {
        for (int j = 0; j < W; ++j) bad += one(x[i + static_cast<std::size_t>(j)]) ? 0 : 1;
      }
    }
  }
  for (; i < count; ++i) {
    const bool fine = one(x[i]);
    bad += fine ? 0 : 1;
    to[i] = fine ? x[i] * gain : 0.0F;
  }
  return bad;
}

// `taps(i)`: W taps from number i on.
template <int W, class Taps>
RUNNEL_LANES_INLINE float dot_of(const float* x, std::size_t count, Taps taps) {
  F<W> sums[16 / W] = {};
  for (std::size_t i = 0; i < count; i += 16) {
    for (int j = 0; j < 16 / W; ++j) {
      const std::size_t at = i + static_cast<std::size_t>(j) * W;
      sums[j] += load<W>(x + at) * taps(at);
    }
  }
  float lanes[16];
  for (int j = 0; j < 16 / W; ++j) store<W>(lanes + j * W, sums[j]);
  return fold<16>(lanes);
}

template <int W>
float dot(const float* x, const float* taps, std::size_t count) noexcept {
  return dot_of<W>(
      x, count, [=](std::size_t i) __attribute__((always_inline)) { return load<W>(taps + i); });
}
template <int W>
float dot_reversed(const float* x, const float* last, std::size_t count) noexcept {
  return dot_of<W>(
      x, count, [=](std::size_t i) __attribute__((always_inline)) {
        return reverse<W>(load<W>(last - i - (W - 1)));
      });
}

template <int W>
void normalize(float* x, const float* mean, const float* scale, std::size_t count) noexcept {
  for_each_lane<W>(
      0, count, [=]<int V>(std::size_t i) __attribute__((always_inline)) {
        store<V>(x + i, (load<V>(x + i) - load<V>(mean + i)) * load<V>(scale + i));
      });
}

}  // namespace
}  // namespace runnel::features
