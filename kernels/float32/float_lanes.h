// base/float_lanes.h with additions for the float kernels: partial vectors, fused multiply-add (rounded alike
// in every lane), square roots, signs. Only float_kernels_*.cpp and float_pair_kernels_*.cpp include this,
// through the loops.
#pragma once

#include "base/float_lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace runnel::kernels {
namespace {

using namespace lanes;

// The first `count` lanes, 0 < count <= W; the others are 0.
template <int W>
RUNNEL_LANES_INLINE F<W> load_some(const float* p, std::size_t count) {
  if constexpr (W == 1) {
    return *p;
  } else {
#if defined(__AVX512F__)
    if constexpr (W == 16)
      return reinterpret_cast<F<W>>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p));
#endif
#if defined(__AVX2__)
    if constexpr (W == 8) {
      const I<W> wanted = I<W>{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<std::int32_t>(count);
      return reinterpret_cast<F<W>>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(wanted)));
    }
#endif
    float lanes[W] = {};
    for (std::size_t i = 0; i < count; ++i) lanes[i] = p[i];
    return load<W>(lanes);
  }
}
template <int W>
RUNNEL_LANES_INLINE void store_some(float* p, F<W> v, std::size_t count) {
  if constexpr (W == 1) {
    *p = v;
  } else {
#if defined(__AVX512F__)
    if constexpr (W == 16)
      return _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), reinterpret_cast<__m512>(v));
#endif
    float lanes[W];
    store<W>(lanes, v);
    for (std::size_t i = 0; i < count; ++i) p[i] = lanes[i];
  }
}
// The value, held in a register: compilers would read it again for each use.
template <int W>
RUNNEL_LANES_INLINE F<W> in_register(F<W> v) {
#if defined(__AVX512F__)
  __asm__("" : "+v"(v));
#elif defined(__AVX2__)
  __asm__("" : "+x"(v));
#endif
  return v;
}

// a * b + c, rounded once.
template <int W>
RUNNEL_LANES_INLINE F<W> fma(F<W> a, F<W> b, F<W> c) {
  if constexpr (W == 1) {
    return __builtin_fmaf(a, b, c);
#if defined(__AVX512F__)
  } else if constexpr (W == 16) {
    return reinterpret_cast<F<W>>(_mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b),
                                                  reinterpret_cast<__m512>(c)));
#endif
#if defined(__AVX2__)
  } else if constexpr (W == 8) {
    return reinterpret_cast<F<W>>(_mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b),
                                                  reinterpret_cast<__m256>(c)));
#elif defined(__aarch64__)
  } else if constexpr (W == 4) {
    return reinterpret_cast<F<W>>(vfmaq_f32(reinterpret_cast<float32x4_t>(c),
                                            reinterpret_cast<float32x4_t>(a),
                                            reinterpret_cast<float32x4_t>(b)));
#endif
  } else {
    F<W> r;
    for (int i = 0; i < W; ++i) r[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return r;
  }
}

template <int W>
RUNNEL_LANES_INLINE F<W> square_root(F<W> v) {
  if constexpr (W == 1) {
    return __builtin_sqrtf(v);
#if defined(__AVX512F__)
  } else if constexpr (W == 16) {
    return reinterpret_cast<F<W>>(_mm512_sqrt_ps(reinterpret_cast<__m512>(v)));
#endif
#if defined(__AVX2__)
  } else if constexpr (W == 8) {
    return reinterpret_cast<F<W>>(_mm256_sqrt_ps(reinterpret_cast<__m256>(v)));
#elif defined(__aarch64__)
  } else if constexpr (W == 4) {
    return reinterpret_cast<F<W>>(vsqrtq_f32(reinterpret_cast<float32x4_t>(v)));
#endif
  } else {
    F<W> r;
    for (int i = 0; i < W; ++i) r[i] = __builtin_sqrtf(v[i]);
    return r;
  }
}

template <int W>
RUNNEL_LANES_INLINE F<W> absolute(F<W> v) {
  return float_of_bits<W>(bits_of<W>(v) & 0x7FFFFFFF);
}
// size >= 0 with the sign of `of`.
template <int W>
RUNNEL_LANES_INLINE F<W> with_sign(F<W> size, F<W> of) {
  return float_of_bits<W>(bits_of<W>(size) | (bits_of<W>(of) & static_cast<std::int32_t>(0x80000000)));
}

// f(first index, valid lanes, load, store) over `count` elements: whole vectors, then the rest.
template <int W, class G>
RUNNEL_LANES_INLINE void each_vector(std::size_t count, G g) {
  constexpr std::size_t kStep = W;
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    g(
        [i](const float* p) __attribute__((always_inline)) { return load<W>(p + i); },
        [i](float* p, F<W> v) __attribute__((always_inline)) { store<W>(p + i, v); });
  }
  if (i == count) return;
  const std::size_t rest = count - i;
  g(
      [ i, rest ](const float* p) __attribute__((always_inline)) { return load_some<W>(p + i, rest); },
      [ i, rest ](float* p, F<W> v) __attribute__((always_inline)) { store_some<W>(p + i, v, rest); });
}

}  // namespace
}  // namespace runnel::kernels
