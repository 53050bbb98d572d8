// exp, sigmoid, tanh and the gates of recurrent layers on vectors of floats. Only for float_loops.h.
#pragma once

#include "kernels/float32/float_lanes.h"

namespace runnel::kernels {
namespace {

// e^x = 2^n * e^r with |r| <= ln 2 / 2; e^r is a polynomial of degree 7 (Cephes' expf). 0 below -104,
// infinity above 89.
template <int W>
RUNNEL_LANES_INLINE F<W> exp_of_lanes(F<W> x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  x = x > splat<W>(89.0f) ? splat<W>(89.0f) : x;
  x = x < splat<W>(-104.0f) ? splat<W>(-104.0f) : x;
  const F<W> shifted = fma<W>(x, splat<W>(1.44269504f), splat<W>(kShift));
  const F<W> n = shifted - splat<W>(kShift);
  F<W> r = fma<W>(n, splat<W>(-0.693359375f), x);
  r = fma<W>(n, splat<W>(2.12194440e-4f), r);
  F<W> p = fma<W>(splat<W>(1.9875691500e-4f), r, splat<W>(1.3981999507e-3f));
  p = fma<W>(p, r, splat<W>(8.3334519073e-3f));
  p = fma<W>(p, r, splat<W>(4.1665795894e-2f));
  p = fma<W>(p, r, splat<W>(1.6666665459e-1f));
  p = fma<W>(p, r, splat<W>(5.0000001201e-1f));
  p = fma<W>(p, r * r, r) + splat<W>(1.0f);
  // 2^n in two steps, so that subnormal results are right.
  const I<W> whole = bits_of<W>(shifted) - bits_of<W>(splat<W>(kShift));
  const I<W> half = whole >> 1;
  return p * float_of_bits<W>((half + 127) << 23) * float_of_bits<W>((whole - half + 127) << 23);
}

template <int W>
RUNNEL_LANES_INLINE F<W> sigmoid_of_lanes(F<W> x) {
  const F<W> e = exp_of_lanes<W>(-absolute<W>(x));
  return (x < splat<W>(0) ? e : splat<W>(1)) / (splat<W>(1) + e);
}

// An odd polynomial below 0.625 (Cephes' tanhf), 1 - 2e / (1 + e) with e = exp(-2|x|) above.
template <int W>
RUNNEL_LANES_INLINE F<W> tanh_of_lanes(F<W> x) {
  const F<W> size = absolute<W>(x), e = exp_of_lanes<W>(splat<W>(-2) * size);
  const F<W> large = splat<W>(1) - (e + e) / (splat<W>(1) + e);
  const F<W> z = x * x;
  F<W> p = fma<W>(splat<W>(-5.70498872745e-3f), z, splat<W>(2.06390887954e-2f));
  p = fma<W>(p, z, splat<W>(-5.37397155531e-2f));
  p = fma<W>(p, z, splat<W>(1.33314422036e-1f));
  p = fma<W>(p, z, splat<W>(-3.33332819422e-1f));
  const F<W> small = fma<W>(p * z, size, size);
  return with_sign<W>(size < splat<W>(0.625f) ? small : large, x);
}

template <int W>
RUNNEL_LANES_INLINE F<W> swish_of_lanes(F<W> x) {
  return x < splat<W>(-200.0f) ? splat<W>(0) : x * sigmoid_of_lanes<W>(x);
}

template <int W>
void exp_loop(std::size_t count, const float* x, float* y) noexcept {
  each_vector<W>(
      count, [=](auto in, auto out) __attribute__((always_inline)) { out(y, exp_of_lanes<W>(in(x))); });
}
template <int W>
void sigmoid_loop(std::size_t count, const float* x, float* y) noexcept {
  each_vector<W>(
      count, [=](auto in, auto out) __attribute__((always_inline)) { out(y, sigmoid_of_lanes<W>(in(x))); });
}
template <int W>
void tanh_loop(std::size_t count, const float* x, float* y) noexcept {
  each_vector<W>(
      count, [=](auto in, auto out) __attribute__((always_inline)) { out(y, tanh_of_lanes<W>(in(x))); });
}
template <int W>
void swish_loop(std::size_t count, const float* x, float* y) noexcept {
  each_vector<W>(
      count, [=](auto in, auto out) __attribute__((always_inline)) { out(y, swish_of_lanes<W>(in(x))); });
}
#if defined(__AVX2__) || defined(__aarch64__)
// exact::log (base/exact_math_constant.h) of several numbers, operation by operation, then rounded to floats.
// Floats are never subnormal as doubles.
#if defined(__AVX512F__)
constexpr int kDoubles = 8;
#elif defined(__AVX2__)
constexpr int kDoubles = 4;
#else
constexpr int kDoubles = 2;
#endif
typedef double Doubles __attribute__((vector_size(kDoubles * 8)));
typedef std::uint64_t DoubleBits __attribute__((vector_size(kDoubles * 8)));
RUNNEL_LANES_INLINE Doubles to_doubles(const float* x) {
#if defined(__AVX512F__)
  return reinterpret_cast<Doubles>(_mm512_cvtps_pd(_mm256_loadu_ps(x)));
#elif defined(__AVX2__)
  return reinterpret_cast<Doubles>(_mm256_cvtps_pd(_mm_loadu_ps(x)));
#else
  return Doubles{x[0], x[1]};
#endif
}
RUNNEL_LANES_INLINE void to_floats(Doubles v, float* y) {
#if defined(__AVX512F__)
  _mm256_storeu_ps(y, _mm512_cvtpd_ps(reinterpret_cast<__m512d>(v)));
#elif defined(__AVX2__)
  _mm_storeu_ps(y, _mm256_cvtpd_ps(reinterpret_cast<__m256d>(v)));
#else
  y[0] = static_cast<float>(v[0]);
  y[1] = static_cast<float>(v[1]);
#endif
}
RUNNEL_LANES_INLINE Doubles log_of_doubles(Doubles x) {
  const auto bits = reinterpret_cast<DoubleBits>(x);
  constexpr double kUnit = 4503599627370496.0;  // 2^52: its low bits hold an integer
  const Doubles one = Doubles{} + 1.0;
  Doubles exponent =
      reinterpret_cast<Doubles>((bits >> 52) | reinterpret_cast<DoubleBits>(Doubles{} + kUnit)) -
      (kUnit + 1023);
  Doubles m = reinterpret_cast<Doubles>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  const auto large = m > 1.4142135623730951;
  m = large ? m * 0.5 : m;
  exponent = large ? exponent + one : exponent;
  const Doubles f = (m - 1) / (m + 1), x2 = f * f;
  Doubles series = {};
  for (int k = 23; k >= 3; k -= 2) series = (series + 1.0 / k) * x2;
  constexpr double kHigh = 6.93147180369123816490e-01,
                   kLow = 1.90821492927058770002e-10;  // ln 2 in two parts
  const Doubles log = exponent * kHigh + (2 * f + (2 * f * series + exponent * kLow)),
                infinity = Doubles{} + __builtin_inf();
  const Doubles end = x == 0 ? -infinity : Doubles{} + __builtin_nan("");
  return x > 0 ? (x < infinity ? log : x) : end;
}
inline void log_loop(std::size_t count, const float* x, float* y) noexcept {
  constexpr std::size_t kTogether = kDoubles;
  for (; count >= kTogether; count -= kTogether, x += kTogether, y += kTogether)
    to_floats(log_of_doubles(to_doubles(x)), y);
  if (count == 0) return;
  float some[kTogether] = {};
  __builtin_memcpy(some, x, count * sizeof(float));
  to_floats(log_of_doubles(to_doubles(some)), some);
  __builtin_memcpy(y, some, count * sizeof(float));
}
#endif

template <int W>
void sqrt_loop(std::size_t count, const float* x, float* y) noexcept {
  each_vector<W>(
      count, [=](auto in, auto out) __attribute__((always_inline)) { out(y, square_root<W>(in(x))); });
}

template <int W>
void lstm_gates(std::size_t hidden, const float* x, const float* s, float* h, float* c) noexcept {
  each_vector<W>(
      hidden, [=](auto in, auto out) __attribute__((always_inline)) {
        const F<W> i = sigmoid_of_lanes<W>(in(x) + in(s)),
                   o = sigmoid_of_lanes<W>(in(x + hidden) + in(s + hidden));
        const F<W> f = sigmoid_of_lanes<W>(in(x + 2 * hidden) + in(s + 2 * hidden)),
                   g = tanh_of_lanes<W>(in(x + 3 * hidden) + in(s + 3 * hidden));
        const F<W> cell = fma<W>(f, in(c), i * g);
        out(c, cell);
        out(h, o * tanh_of_lanes<W>(cell));
      });
}
template <int W>
void gru_gates(std::size_t hidden, const float* x, const float* s, float* h) noexcept {
  each_vector<W>(
      hidden, [=](auto in, auto out) __attribute__((always_inline)) {
        const F<W> z = sigmoid_of_lanes<W>(in(x) + in(s)),
                   r = sigmoid_of_lanes<W>(in(x + hidden) + in(s + hidden));
        const F<W> n = tanh_of_lanes<W>(fma<W>(r, in(s + 2 * hidden), in(x + 2 * hidden)));
        out(h, fma<W>(z, in(h), (splat<W>(1) - z) * n));
      });
}

}  // namespace
}  // namespace runnel::kernels
