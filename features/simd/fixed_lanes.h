// Vectors of W pairs of 16-bit integers, W = 4, 8, 16, for x86 and WebAssembly. See lanes.h for how such
// headers are compiled.
#pragma once

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#else
#include <immintrin.h>
#endif

#include "features/simd/lanes.h"

namespace runnel::features {
namespace {

template <int W>
struct IntLanes {
  typedef std::int16_t H __attribute__((vector_size(W * 4)));
  typedef std::uint16_t Uh __attribute__((vector_size(W * 4)));
  typedef std::uint32_t U __attribute__((vector_size(W * 4)));
};
// The same register as 2 W int16, 2 W unsigned, or W 32-bit numbers: casts keep the bits. Arithmetic that
// wraps is done in Uh, where wrapping is defined.
template <int W>
using H = typename IntLanes<W>::H;
template <int W>
using Uh = typename IntLanes<W>::Uh;
template <int W>
using U = typename IntLanes<W>::U;

template <int W>
RUNNEL_LANES_INLINE H<W> load16(const std::int16_t* p) {
  H<W> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <int W>
RUNNEL_LANES_INLINE void store16(std::int16_t* p, H<W> v) {
  __builtin_memcpy(p, &v, sizeof v);
}
// A pair in all places.
template <int W>
RUNNEL_LANES_INLINE H<W> splat_pair(const std::int16_t* p) {
  std::uint32_t both;
  __builtin_memcpy(&both, p, sizeof both);
  return (H<W>)(both + U<W>{});
}
template <int W>
RUNNEL_LANES_INLINE H<W> plus(H<W> a, H<W> b) {
  return (H<W>)((Uh<W>)a + (Uh<W>)b);
}
template <int W>
RUNNEL_LANES_INLINE H<W> minus(H<W> a, H<W> b) {
  return (H<W>)((Uh<W>)a - (Uh<W>)b);
}

// a.re * b.re + a.im * b.im of each pair, in 32 bits.
template <int W>
RUNNEL_LANES_INLINE U<W> pair_products(H<W> a, H<W> b) {
#if defined(__wasm_simd128__)
  if constexpr (W == 4) return (U<W>)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
#else
  if constexpr (W == 4) return (U<W>)_mm_madd_epi16((__m128i)a, (__m128i)b);
#endif
#if defined(__AVX2__)
  if constexpr (W == 8) return (U<W>)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#endif
#if defined(__AVX512BW__)
  if constexpr (W == 16) return (U<W>)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#endif
}
// The upper and lower halves of products.
template <int W>
RUNNEL_LANES_INLINE H<W> high_products(H<W> a, H<W> b) {
#if defined(__wasm_simd128__)
  if constexpr (W == 4) {
    const v128_t x = (v128_t)a, y = (v128_t)b;
    return (H<W>)wasm_i16x8_shuffle(wasm_i32x4_extmul_low_i16x8(x, y), wasm_i32x4_extmul_high_i16x8(x, y), 1,
                                    3, 5, 7, 9, 11, 13, 15);
  }
#else
  if constexpr (W == 4) return (H<W>)_mm_mulhi_epi16((__m128i)a, (__m128i)b);
#endif
#if defined(__AVX2__)
  if constexpr (W == 8) return (H<W>)_mm256_mulhi_epi16((__m256i)a, (__m256i)b);
#endif
#if defined(__AVX512BW__)
  if constexpr (W == 16) return (H<W>)_mm512_mulhi_epi16((__m512i)a, (__m512i)b);
#endif
}
template <int W>
RUNNEL_LANES_INLINE Uh<W> low_products(H<W> a, H<W> b) {
  return (Uh<W>)a * (Uh<W>)b;
}
// (x * factor + 2^14) >> 15 for |factor| < 2^14 and more than 1.
template <int W>
RUNNEL_LANES_INLINE H<W> rounded_product(H<W> x, std::int16_t factor) {
  const H<W> f = factor - H<W>{};
#if defined(__wasm_simd128__)
  return (H<W>)wasm_i16x8_q15mulr_sat((v128_t)x, (v128_t)f);  // saturates only -2^15 times itself
#else
#if defined(__AVX512BW__)
  if constexpr (W == 16) return (H<W>)_mm512_mulhrs_epi16((__m512i)x, (__m512i)f);
#endif
#if defined(__AVX2__)
  if constexpr (W == 8) return (H<W>)_mm256_mulhrs_epi16((__m256i)x, (__m256i)f);
#endif
#if defined(__SSSE3__)
  if constexpr (W == 4) return (H<W>)_mm_mulhrs_epi16((__m128i)x, (__m128i)f);
#endif
  // SSE2 has no such product: the upper 18 of 32 bits, which fit into 16 here, plus one, halved.
  const Uh<W> upper = ((Uh<W>)high_products<W>(x, f) << 2) | (low_products<W>(x, f) >> 14);
  return (H<W>)(upper + 1) >> 1;
#endif
}

// Halves of a lane exchanged.
template <int W>
RUNNEL_LANES_INLINE H<W> swapped(H<W> x) {
  const U<W> v = (U<W>)x;
  return (H<W>)((v << 16) | (v >> 16));
}
template <int W>
RUNNEL_LANES_INLINE H<W> with_minus_im(H<W> x) {
  const Uh<W> im = (Uh<W>)(0xFFFF0000U + U<W>{});
  return (H<W>)(((Uh<W>)x ^ im) - im);
}
// The real parts of one, the imaginary parts of the other.
template <int W>
RUNNEL_LANES_INLINE H<W> merged(U<W> re, U<W> im) {
#if defined(__AVX512BW__)
  if constexpr (W == 16) return (H<W>)_mm512_mask_blend_epi16(0xAAAAAAAAU, (__m512i)re, (__m512i)im);
#endif
#if defined(__AVX2__)
  if constexpr (W == 8) return (H<W>)_mm256_blend_epi16((__m256i)re, (__m256i)im, 0xAA);
#endif
  return (H<W>)((re & 0xFFFFU) | (im & 0xFFFF0000U));
}

// The factor of a complex product, in both forms that the product needs.
template <int W>
struct Factor {
  H<W> conjugate, swapped_pair;
  RUNNEL_LANES_INLINE static Factor of(H<W> pair) { return {with_minus_im<W>(pair), swapped<W>(pair)}; }
};
template <int W>
RUNNEL_LANES_INLINE H<W> times(H<W> x, const Factor<W>& f) {
  const U<W> re = pair_products<W>(x, f.conjugate) + 16384U,
             im = pair_products<W>(x, f.swapped_pair) + 16384U;
  return merged<W>(re >> 15, im << 1);
}

// floor((a + b) / 2) and floor((a - b) / 2), without a 17th bit.
template <int W>
RUNNEL_LANES_INLINE H<W> half_sum(H<W> a, H<W> b) {
  return plus<W>(a & b, (a ^ b) >> 1);
}
template <int W>
RUNNEL_LANES_INLINE H<W> half_difference(H<W> a, H<W> b) {
  return minus<W>(minus<W>(a >> 1, b >> 1), ~a & b & 1);
}

template <int W>
RUNNEL_LANES_INLINE H<W> reversed_pairs(H<W> x) {
  return (H<W>)reverse<W>((F<W>)x);
}
// Pairs 0, 2, .. and 1, 3, .. of a, then b.
template <int W>
RUNNEL_LANES_INLINE void split_even_odd(H<W> a, H<W> b, H<W>& even, H<W>& odd) {
  F<W> e, o;
  split_pairs<W>((F<W>)a, (F<W>)b, e, o);
  even = (H<W>)e;
  odd = (H<W>)o;
}

}  // namespace
}  // namespace runnel::features
