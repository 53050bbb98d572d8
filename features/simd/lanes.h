// base/float_lanes.h with permutations of lanes for transforms. Only simd/kernels_*.cpp include this header.
#pragma once

#include "base/float_lanes.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace runnel::features {
namespace {

using namespace lanes;

template <int W>
RUNNEL_LANES_INLINE F<W> to_float(I<W> v) {
  if constexpr (W == 1)
    return static_cast<float>(v);
  else
    return __builtin_convertvector(v, F<W>);
}

// Reversed order of lanes.
template <int W>
RUNNEL_LANES_INLINE F<W> reverse(F<W> v) {
  if constexpr (W == 1)
    return v;
  else if constexpr (W == 4)
    return __builtin_shufflevector(v, v, 3, 2, 1, 0);
  else if constexpr (W == 8)
    return __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0);
  else
    return __builtin_shufflevector(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

// (W > 4)
template <int W>
RUNNEL_LANES_INLINE F<W / 2> low_half(F<W> v) {
  if constexpr (W == 8)
    return __builtin_shufflevector(v, v, 0, 1, 2, 3);
  else
    return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
}
template <int W>
RUNNEL_LANES_INLINE F<W / 2> high_half(F<W> v) {
  if constexpr (W == 8)
    return __builtin_shufflevector(v, v, 4, 5, 6, 7);
  else
    return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
}

// How many floats p is after an address for whole vectors.
template <int W>
RUNNEL_LANES_INLINE std::size_t floats_past_aligned(const float* p) {
  return reinterpret_cast<std::uintptr_t>(p) / sizeof(float) % W;
}

// even: a0 a2 .. b0 b2 ..; odd: a1 a3 .. b1 b3 .. (W > 1)
template <int W>
RUNNEL_LANES_INLINE void split_pairs(F<W> a, F<W> b, F<W>& even, F<W>& odd) {
  if constexpr (W == 4) {
    even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
    odd = __builtin_shufflevector(a, b, 1, 3, 5, 7);
  } else if constexpr (W == 8) {
    even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
  } else {
    even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  }
}

// The same from memory: even p0 p2 .., odd p1 p3 ... (W > 1)
template <int W>
RUNNEL_LANES_INLINE void load_pairs(const float* p, F<W>& even, F<W>& odd) {
#ifdef __AVX2__
  if constexpr (W == 8) {
    // Halves are exchanged by the loads, so that the shuffles stay inside of them.
    const auto halves = [p](int first, int second) __attribute__((always_inline)) {
      return (F<8>)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p + first)),
                                        _mm_loadu_ps(p + second), 1);
    };
    const F<8> a = halves(0, 8), b = halves(4, 12);
    even = __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14);
    odd = __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
    return;
  }
#endif
  split_pairs<W>(load<W>(p), load<W>(p + W), even, odd);
}

// a0 b0 a1 b1 ... (W > 1)
template <int W>
RUNNEL_LANES_INLINE void zip(F<W> a, F<W> b, F<W>& low, F<W>& high) {
  if constexpr (W == 4) {
    low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  } else if constexpr (W == 8) {
    low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  } else {
    low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    high = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
}

// The same with groups of four lanes: a0-3 b0-3 a4-7 b4-7 ... (W > 4)
template <int W>
RUNNEL_LANES_INLINE void zip_quads(F<W> a, F<W> b, F<W>& low, F<W>& high) {
  if constexpr (W == 8) {
    low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  } else {
    low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    high = __builtin_shufflevector(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  }
}

// In each half: a0 b0 a1 b1, and a2 b2 a3 b3 (W == 8). Eight lanes are two halves on AVX2, and shuffles
// between them are slow.
template <int W>
RUNNEL_LANES_INLINE F<W> zip_low(F<W> a, F<W> b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
}
template <int W>
RUNNEL_LANES_INLINE F<W> zip_high(F<W> a, F<W> b) {
  return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}
// Four lanes by four transposed in each half: to[k] = a[k] b[k] c[k] d[k] a[4+k] b[4+k] c[4+k] d[4+k] (W ==
// 8).
template <int W>
RUNNEL_LANES_INLINE void transpose_quads(F<W> a, F<W> b, F<W> c, F<W> d, F<W>* to) {
  const F<W> ab[2] = {zip_low<W>(a, b), zip_high<W>(a, b)}, cd[2] = {zip_low<W>(c, d), zip_high<W>(c, d)};
  for (int half = 0; half < 2; ++half) {
    to[2 * half] = __builtin_shufflevector(ab[half], cd[half], 0, 1, 8, 9, 4, 5, 12, 13);
    to[2 * half + 1] = __builtin_shufflevector(ab[half], cd[half], 2, 3, 10, 11, 6, 7, 14, 15);
  }
}

// a0 b0 c0 d0 a1 b1 c1 d1 ... (W > 1)
template <int W>
RUNNEL_LANES_INLINE void zip_four(F<W> a, F<W> b, F<W> c, F<W> d, F<W>* to) {
  if constexpr (W == 8) {
    // Only the last shuffles cross halves.
    const F<8> ac[2] = {zip_low<W>(a, c), zip_high<W>(a, c)}, bd[2] = {zip_low<W>(b, d), zip_high<W>(b, d)};
    zip_quads<8>(zip_low<W>(ac[0], bd[0]), zip_high<W>(ac[0], bd[0]), to[0], to[2]);
    zip_quads<8>(zip_low<W>(ac[1], bd[1]), zip_high<W>(ac[1], bd[1]), to[1], to[3]);
  } else {
    F<W> ac[2], bd[2];
    zip<W>(a, c, ac[0], ac[1]);
    zip<W>(b, d, bd[0], bd[1]);
    zip<W>(ac[0], bd[0], to[0], to[1]);
    zip<W>(ac[1], bd[1], to[2], to[3]);
  }
}

// The same with groups of four lanes: a0-3 b0-3 c0-3 d0-3 a4-7 ... (W > 4)
template <int W>
RUNNEL_LANES_INLINE void zip_four_quads(F<W> a, F<W> b, F<W> c, F<W> d, F<W>* to) {
  if constexpr (W == 8) {
    zip_quads<8>(a, b, to[0], to[2]);
    zip_quads<8>(c, d, to[1], to[3]);
  } else {
    F<W> ac[2], bd[2];
    zip_quads<W>(a, c, ac[0], ac[1]);
    zip_quads<W>(b, d, bd[0], bd[1]);
    zip_quads<W>(ac[0], bd[0], to[0], to[1]);
    zip_quads<W>(ac[1], bd[1], to[2], to[3]);
  }
}

// W/4 floats from p, each four times: p0 p0 p0 p0 p1 p1 p1 p1 ... (W > 4)
template <int W>
RUNNEL_LANES_INLINE F<W> load_quadrupled(const float* p) {
  if constexpr (W == 8) {
#ifdef __AVX2__
    // Compilers would route the line below through memory, in pieces that the processor cannot
    // forward at once.
    double two;
    __builtin_memcpy(&two, p, sizeof two);
    return (F<8>)_mm256_permutevar8x32_ps(_mm256_castpd_ps(_mm256_set1_pd(two)),
                                          _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
#else
    return F<8>{p[0], p[0], p[0], p[0], p[1], p[1], p[1], p[1]};
#endif
  } else {
#ifdef __AVX512F__
    // The same: the masked form, because the plain one reads an uninitialised register as its unused default.
    return (F<16>)_mm512_maskz_permutexvar_ps(
        0xffff, _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3),
        _mm512_castps128_ps512(_mm_loadu_ps(p)));
#else
    const F<4> v = load<4>(p);
    return __builtin_shufflevector(v, v, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
#endif
  }
}

}  // namespace
}  // namespace runnel::features
