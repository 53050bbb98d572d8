// Vectors of floats of 1, 4, 8 or 16 lanes with the same element-wise meaning, from which every kernel is
// instantiated once per instruction set. An element-wise operation rounds the same way in any lane, so the
// width changes speed and never a bit.
//
// Only simd/kernels_*.cpp include this header. Everything sits in an unnamed namespace on purpose: each of
// those files is compiled for another instruction set, and a shared inline function could otherwise be linked
// from the wrong one.
#pragma once

#include <cstddef>
#include <cstdint>

#define RUNNEL_INLINE inline __attribute__((always_inline))

namespace runnel::features {
namespace {

template <int W>
struct Lanes {
  typedef float F __attribute__((vector_size(W * 4)));
  typedef std::int32_t I __attribute__((vector_size(W * 4)));
};
template <>
struct Lanes<1> {
  using F = float;
  using I = std::int32_t;
};
template <int W>
using F = typename Lanes<W>::F;
template <int W>
using I = typename Lanes<W>::I;

// Aligned as floats are: machines that trap unaligned words would otherwise copy byte by byte.
template <int W>
RUNNEL_INLINE F<W> load(const float* p) {
  F<W> v;
  __builtin_memcpy(&v, __builtin_assume_aligned(p, alignof(float)), sizeof v);
  return v;
}
template <int W>
RUNNEL_INLINE void store(float* p, F<W> v) {
  __builtin_memcpy(__builtin_assume_aligned(p, alignof(float)), &v, sizeof v);
}
template <int W>
RUNNEL_INLINE F<W> splat(float x) {
  if constexpr (W == 1)
    return x;
  else
    return x - F<W>{};  // x - 0 is x for every x, also -0 and NaN
}
template <int W>
RUNNEL_INLINE I<W> splat_int(std::int32_t x) {
  if constexpr (W == 1)
    return x;
  else
    return x - I<W>{};
}
template <int W>
RUNNEL_INLINE I<W> bits_of(F<W> v) {
  I<W> r;
  __builtin_memcpy(&r, &v, sizeof r);
  return r;
}
template <int W>
RUNNEL_INLINE F<W> float_of_bits(I<W> v) {
  F<W> r;
  __builtin_memcpy(&r, &v, sizeof r);
  return r;
}
template <int W>
RUNNEL_INLINE F<W> to_float(I<W> v) {
  if constexpr (W == 1)
    return static_cast<float>(v);
  else
    return __builtin_convertvector(v, F<W>);
}

// Reversed order of lanes.
template <int W>
RUNNEL_INLINE F<W> reverse(F<W> v) {
  if constexpr (W == 1)
    return v;
  else if constexpr (W == 4)
    return __builtin_shufflevector(v, v, 3, 2, 1, 0);
  else if constexpr (W == 8)
    return __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0);
  else
    return __builtin_shufflevector(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

// even: a0 a2 .. b0 b2 ..; odd: a1 a3 .. b1 b3 .. (W > 1)
template <int W>
RUNNEL_INLINE void split_pairs(F<W> a, F<W> b, F<W>& even, F<W>& odd) {
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

// a0 b0 a1 b1 ... (W > 1)
template <int W>
RUNNEL_INLINE void zip(F<W> a, F<W> b, F<W>& low, F<W>& high) {
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
RUNNEL_INLINE void zip_quads(F<W> a, F<W> b, F<W>& low, F<W>& high) {
  if constexpr (W == 8) {
    low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  } else {
    low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    high = __builtin_shufflevector(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  }
}

// W/4 floats from p, each four times: p0 p0 p0 p0 p1 p1 p1 p1 ... (W > 4)
template <int W>
RUNNEL_INLINE F<W> load_quadrupled(const float* p) {
  if constexpr (W == 8) {
    return F<8>{p[0], p[0], p[0], p[0], p[1], p[1], p[1], p[1]};
  } else {
    const F<4> v = load<4>(p);
    return __builtin_shufflevector(v, v, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  }
}

}  // namespace
}  // namespace runnel::features
