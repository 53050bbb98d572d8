// Pairs of floats: high + low with |low| <= half a unit of high, a number of about 48 bits. They replace
// double precision, which some machines emulate. Vectors of W lanes; included only by the files of
// float_pair_kernels, each compiled for one instruction set.
#pragma once

#include "base/exact_math_constant.h"
#include "kernels/float32/float_lanes.h"

namespace runnel::kernels {
namespace {

template <int W>
struct Pair {
  F<W> high, low;
};

// a + b exactly.
template <int W>
RUNNEL_LANES_INLINE Pair<W> sum_of(F<W> a, F<W> b) {
  const F<W> sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
// The same where |a| >= |b| or a = 0.
template <int W>
RUNNEL_LANES_INLINE Pair<W> ordered_sum(F<W> a, F<W> b) {
  const F<W> sum = a + b;
  return {sum, b - (sum - a)};
}
// a * b within 2^-46.
template <int W>
RUNNEL_LANES_INLINE Pair<W> product_of(Pair<W> a, Pair<W> b) {
  const F<W> product = a.high * b.high, rest = fma<W>(a.high, b.high, -product);
  return ordered_sum<W>(product, fma<W>(a.high, b.low, fma<W>(a.low, b.high, rest)));
}

// 2^n for -126 <= n <= 127.
template <int W>
RUNNEL_LANES_INLINE F<W> power(I<W> n) {
  return float_of_bits<W>((n + 127) << 23);
}

// 2^(i/32) as pairs, computed at compile time.
struct PowerTable {
  float high[32], low[32];
};
constexpr PowerTable make_power_table() {
  PowerTable table{};
  for (int i = 0; i < 32; ++i) {
    const double value = exact::constant::exp(i * 0.0216608493924982909);  // ln 2 / 32
    table.high[i] = static_cast<float>(value);
    table.low[i] = static_cast<float>(value - static_cast<double>(table.high[i]));
  }
  return table;
}
constexpr PowerTable kPowers = make_power_table();

template <int W>
RUNNEL_LANES_INLINE F<W> looked_up(const float* table, I<W> index) {
  if constexpr (W == 1) {
    return table[index];
#if defined(__AVX512F__)
  } else if constexpr (W == 16) {
    return reinterpret_cast<F<W>>(_mm512_i32gather_ps(reinterpret_cast<__m512i>(index), table, 4));
#endif
#if defined(__AVX2__)
  } else if constexpr (W == 8) {
    return reinterpret_cast<F<W>>(_mm256_i32gather_ps(table, reinterpret_cast<__m256i>(index), 4));
#endif
  } else {
    F<W> r;
    for (int i = 0; i < W; ++i) r[i] = table[index[i]];
    return r;
  }
}

// e^x = 2^n power (1 + rest), |rest| < 0.011; |x.high| <= 104.
template <int W>
struct Exponential {
  I<W> n;
  Pair<W> power, rest;
};
template <int W>
RUNNEL_LANES_INLINE Exponential<W> exponential(Pair<W> x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const F<W> shifted = fma<W>(x.high, splat<W>(46.1662407f), splat<W>(kShift)),
             n = shifted - splat<W>(kShift);
  // x - n ln 2 / 32, with the constant in three parts; the products of the first two with n are exact.
  const Pair<W> part =
      sum_of<W>(fma<W>(n, splat<W>(-0.02166748046875f), x.high), n * splat<W>(6.631016731e-6f));
  const Pair<W> r = ordered_sum<W>(part.high, part.low + fma<W>(n, splat<W>(5.952044413e-11f), x.low));
  // e^r - 1 = r + r^2 / 2 + ...; the first two terms keep their rounding errors.
  const F<W> square = r.high * r.high;
  F<W> tail = fma<W>(splat<W>(1.0f / 120), r.high, splat<W>(1.0f / 24));
  tail = fma<W>(tail, r.high, splat<W>(1.0f / 6));
  tail = fma<W>(square * r.high, tail, splat<W>(0.5f) * fma<W>(r.high, r.high, -square));
  Pair<W> rest = ordered_sum<W>(r.high, splat<W>(0.5f) * square);
  rest.low = rest.low + (fma<W>(r.high, r.low, r.low) + tail);
  const I<W> whole = bits_of<W>(shifted) - bits_of<W>(splat<W>(kShift)), place = whole & 31;
  return {whole >> 5, {looked_up<W>(kPowers.high, place), looked_up<W>(kPowers.low, place)}, rest};
}

// e^x with a relative error of 2^-42 above 2^-100, with fewer bits below; 0 for x below -104,
// infinity above 89.
template <int W>
RUNNEL_LANES_INLINE Pair<W> exp_of(Pair<W> x) {
  const F<W> most = splat<W>(89.0f), least = splat<W>(-104.0f);
  x.low = absolute<W>(x.high) < most ? x.low : splat<W>(0);  // NaN for an infinity
  x.high = x.high > most ? most : x.high;
  x.high = x.high < least ? least : x.high;
  const Exponential<W> e = exponential<W>(x);
  const Pair<W> more = product_of<W>(e.power, e.rest), y = ordered_sum<W>(e.power.high, more.high);
  // 2^n in two steps, so that subnormal results are right.
  const I<W> half = e.n >> 1;
  const F<W> first = power<W>(half), second = power<W>(e.n - half);
  return {y.high * first * second, (y.low + (e.power.low + more.low)) * first * second};
}

// Natural logarithm; x normal and finite, above 0. An approximation y from a series, then y + (m e^-y - 1).
template <int W>
RUNNEL_LANES_INLINE Pair<W> log_of(Pair<W> x) {
  // x = 2^k m with m in [0.75, 1.5).
  const I<W> bits = bits_of<W>(x.high), k = (bits - splat_int<W>(0x3F400000)) >> 23;
  const F<W> m = float_of_bits<W>(bits - (k << 23)), f = m - splat<W>(1);
  const I<W> half = k >> 1;
  const F<W> low = x.low * power<W>(-half) * power<W>(half - k);
  const F<W> z = f / (f + splat<W>(2)), square = z * z;
  F<W> p = fma<W>(splat<W>(2.0f / 9), square, splat<W>(2.0f / 7));
  p = fma<W>(p, square, splat<W>(2.0f / 5));
  p = fma<W>(p, square, splat<W>(2.0f / 3));
  const F<W> y = fma<W>(p * square, z, z + z);
  // m e^-y - 1 = (m - 1) + m (e^-y - 1).
  const Exponential<W> e = exponential<W>({-y, splat<W>(0)});
  const F<W> scale = power<W>(e.n);
  const Pair<W> more = product_of<W>(e.power, e.rest),
                power_less = ordered_sum<W>(e.power.high * scale - splat<W>(1), more.high * scale);
  const Pair<W> less = ordered_sum<W>(power_less.high, power_less.low + (e.power.low + more.low) * scale);
  const Pair<W> product = product_of<W>({m, low}, less), rest = sum_of<W>(f, product.high);
  const F<W> correction = rest.high + (rest.low + (product.low + low));
  constexpr float kShift = 12582912.0f;
  const F<W> n = float_of_bits<W>(k + bits_of<W>(splat<W>(kShift))) - splat<W>(kShift);
  const Pair<W> large = ordered_sum<W>(n * splat<W>(0.693359375f), y),
                both = sum_of<W>(large.high, n * splat<W>(-2.1219253540039062e-4f));
  return ordered_sum<W>(both.high,
                        both.low + (large.low + fma<W>(n, splat<W>(-1.9046542121e-9f), correction)));
}

}  // namespace
}  // namespace runnel::kernels
