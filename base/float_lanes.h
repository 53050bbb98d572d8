// Vectors of 1, 4, 8 or 16 floats with equal element-wise semantics; float kernels are instantiated with one
// width per instruction set. An element-wise operation rounds alike in every lane: the width changes the
// speed and never a bit.
//
// Included only by files compiled for one instruction set each. Everything is in an unnamed namespace: the
// linker could otherwise take a shared inline function from the file of another instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#define RUNNEL_LANES_INLINE [[gnu::always_inline]] inline

namespace runnel::lanes {
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

// Aligned as floats: for machines that trap unaligned words, compilers would otherwise copy byte by byte.
template <int W>
RUNNEL_LANES_INLINE F<W> load(const float* p) {
  F<W> v;
  __builtin_memcpy(&v, __builtin_assume_aligned(p, alignof(float)), sizeof v);
  return v;
}
template <int W>
RUNNEL_LANES_INLINE void store(float* p, F<W> v) {
  __builtin_memcpy(__builtin_assume_aligned(p, alignof(float)), &v, sizeof v);
}
template <int W>
RUNNEL_LANES_INLINE F<W> splat(float x) {
  if constexpr (W == 1)
    return x;
  else
    return x - F<W>{};  // x - 0 is x for every x, also -0 and NaN
}
template <int W>
RUNNEL_LANES_INLINE I<W> splat_int(std::int32_t x) {
  if constexpr (W == 1)
    return x;
  else
    return x - I<W>{};
}
template <int W>
RUNNEL_LANES_INLINE I<W> bits_of(F<W> v) {
  I<W> r;
  __builtin_memcpy(&r, &v, sizeof r);
  return r;
}
template <int W>
RUNNEL_LANES_INLINE F<W> float_of_bits(I<W> v) {
  F<W> r;
  __builtin_memcpy(&r, &v, sizeof r);
  return r;
}

}  // namespace
}  // namespace runnel::lanes
