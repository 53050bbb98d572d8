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

// The same of lanes in N vectors: through memory, each step would wait for the stores of the one before it.
template <int W, int N>
RUNNEL_LANES_INLINE float fold_vectors(const F<W>* vectors) {
  if constexpr (N > 1) {
    F<W> sums[N / 2];
    for (int j = 0; j < N / 2; ++j) sums[j] = vectors[j] + vectors[j + N / 2];
    return fold_vectors<W, N / 2>(sums);
  } else if constexpr (W > 4) {
    const F<W / 2> sum = low_half<W>(*vectors) + high_half<W>(*vectors);
    return fold_vectors<W / 2, 1>(&sum);
  } else {
    const F<W>& v = *vectors;
    return (v[0] + v[2]) + (v[1] + v[3]);
  }
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
  } else {
    constexpr int kVectors = kSumLanes / W;
    F<W> sums[kVectors] = {};
    std::size_t i = 0;
    for (; i + kSumLanes <= count; i += kSumLanes) {
      for (int j = 0; j < kVectors; ++j) sums[j] += term.template at<W>(i + static_cast<std::size_t>(j) * W);
    }
    const std::size_t first = i;  // of the incomplete row, whose whole vectors come first
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      if (i + W <= count) {
        sums[j] += term.template at<W>(i);
        i += W;
      }
    }
    if (i == count) return fold_vectors<W, kVectors>(sums);
    float lanes[kSumLanes];
    for (int j = 0; j < kVectors; ++j) store<W>(lanes + j * W, sums[j]);
    for (; i < count; ++i) lanes[i - first] += term.template at<1>(i);
    return fold<kSumLanes>(lanes);
  }
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
  const auto step = [=]<int V>(std::size_t i) __attribute__((always_inline)) {
    const F<V> now = load<V>(x + i) - mean, before = load<V>(x + i - 1) - mean;
    store<V>(to + i, (now - before * emphasis) * load<V>(window + i));
  };
  if constexpr (W > 1) {
    // Whole vectors at the start and at the end, and between them at aligned addresses: a store into two
    // cache lines takes longer, and so does a load that spans two stores. Some results are stored twice.
    if (count > W) {
      step.template operator()<W>(1);
      for (std::size_t i = 1 + W - floats_past_aligned<W>(to + 1); i + W <= count; i += W)
        step.template operator()<W>(i);
      return step.template operator()<W>(count - W);
    }
  }
  for_each_lane<W>(1, count, step);
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

// One filter of a group of N, by its own rows.
template <int N>
[[maybe_unused]] float one_of_group(const MelRows& rows, const float* power, std::size_t group,
                                    std::size_t lane) noexcept {
  const std::int32_t* const bins = rows.bins + 3 * N * group + lane;
  float energy = 0;
  for (std::int32_t row = bins[N]; row < bins[2 * N]; ++row) {
    const auto at = static_cast<std::size_t>(rows.first_row[group] + row);
    energy += rows.weights[N * at + lane] * power[bins[0] + row];
  }
  return energy;
}

// Four bins of each of N filters: row k of `to` has bin `at` + k of all.
template <int N>
RUNNEL_LANES_INLINE void four_bins(const float* const* from, std::int32_t at, F<N>* to) {
  if constexpr (N == 4) {
    F<4> in[4];
    for (int lane = 0; lane < 4; ++lane) in[lane] = load<4>(from[lane] + at);
    zip_four<4>(in[0], in[1], in[2], in[3], to);
  } else {
#if defined(__AVX2__)
    const auto pair = [&](int lane) __attribute__((always_inline)) {
      return (F<8>)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from[lane] + at)),
                                        _mm_loadu_ps(from[lane + 4] + at), 1);
    };
    transpose_quads<8>(pair(0), pair(1), pair(2), pair(3), to);
#endif
  }
}

// N filters, `count` rows: a filter's bins are consecutive, so one load gives four of them and a
// transposition gives four rows, without gathers. Rows that are not the filter's own add +0, unless their
// power is not finite.
template <int N>
RUNNEL_LANES_INLINE F<N> group_of_filters(const float* weights, const std::int32_t* bins, std::int32_t count,
                                          const float* power) {
  const float* from[N];
  for (int lane = 0; lane < N; ++lane) from[lane] = power + bins[lane];
  F<N> energy = {};
  for (std::int32_t at = 0; at < count; at += 4, weights += 4 * N) {
    F<N> row[4];
    four_bins<N>(from, at, row);
    for (int k = 0; k < 4; ++k) energy += load<N>(weights + k * N) * row[k];
  }
  return energy;
}

template <int N>
RUNNEL_LANES_INLINE bool any_differs_from_zero(F<N> v) {
#if defined(__AVX2__)
  if constexpr (N == 8) return _mm256_movemask_ps((__m256)(v != F<8>{})) != 0;
#endif
  const I<N> differs = v != F<N>{};
  std::int64_t pairs[N / 2], any = 0;
  __builtin_memcpy(pairs, &differs, sizeof pairs);
  for (const std::int64_t pair : pairs) any |= pair;
  return any != 0;
}

// finish(energies, where) stores N of them.
template <int N, class Finish>
RUNNEL_LANES_INLINE void each_group(const MelRows& rows, const float* power, float* to, Finish finish) {
  const auto groups = (static_cast<std::size_t>(rows.filters) + N - 1) / N;
  F<N> zero_or_nan = {};
  bool readable = true;
  for (std::size_t group = 0; group < groups; ++group) {
    const std::int32_t first = rows.first_row[group], count = rows.first_row[group + 1] - first;
    readable = readable && count <= rows.zero_bin + 1;
    if (!readable) break;
    const F<N> energy = group_of_filters<N>(rows.weights + static_cast<std::size_t>(first) * N,
                                            rows.bins + 3 * N * group, count, power);
    zero_or_nan += energy - energy;
    finish(energy, to + group * N);
  }
  if (readable && !any_differs_from_zero<N>(zero_or_nan)) return;
  // Some bin is not finite, which concerns its own filters only, or a row would read past the bins.
  for (std::size_t group = 0; group < groups; ++group) {
    float energies[N];
    for (std::size_t lane = 0; lane < N; ++lane) energies[lane] = one_of_group<N>(rows, power, group, lane);
    finish(load<N>(energies), to + group * N);
  }
}

// N filters in parallel, or filter by filter where the rows are laid out for that.
template <int N>
void mel(const MelRows& rows, const float* power, float* to) noexcept {
  if constexpr (N > 1) {
    if (rows.lanes == N)
      return each_group<N>(
          rows, power, to,
          [](F<N> energy, float* at) __attribute__((always_inline)) { store<N>(at, energy); });
  }
  mel_single(rows, power, to);
}

// The logarithms of one group are computed while the next one's bins are shuffled.
template <int N>
[[maybe_unused]] bool mel_log(const MelRows& rows, const float* power, float floor, float* to) noexcept {
  if (rows.lanes != N) return false;
  each_group<N>(
      rows, power, to, [floor](F<N> energy, float* at) __attribute__((always_inline)) {
        store<N>(at, log_of<N>(larger<N>(energy, splat<N>(floor))));
      });
  return true;
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
  std::size_t bad = 0, i = 0;
  if constexpr (W > 1) {
    I<W> wrong = {};
    for (; i + W <= count; i += W) {
      const F<W> v = load<W>(x + i), zero = {};
      const I<W> fine = v - v == zero;  // infinity and NaN minus themselves are NaN
      store<W>(to + i, (fine ? v : zero) * gain);
      wrong += fine + 1;  // a comparison gives -1 or 0
    }
    std::int64_t pairs[W / 2], any = 0;
    __builtin_memcpy(pairs, &wrong, sizeof pairs);
    for (const std::int64_t pair : pairs) any |= pair;
    if (any != 0) {
      for (int j = 0; j < W; ++j) bad += static_cast<std::size_t>(wrong[j]);
    }
  }
  for (; i < count; ++i) {
    const bool fine = x[i] - x[i] == 0.0F;
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
