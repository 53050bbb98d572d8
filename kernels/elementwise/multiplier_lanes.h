// Affine multipliers as loops and vectors of 32-bit numbers. Included only by files compiled for one
// instruction set each; everything is in an unnamed namespace: no copy reaches other files.
#pragma once

#include <cstdint>

#include "kernels/elementwise/affine.h"
#include "kernels/integer_lanes.h"

namespace runnel::kernels {
namespace {

// Multiplier::operator() for 32-bit values and shifts of 0 to 31. kSmall: results before the shift are below
// 2^30, so that rounding a quotient's ties away from zero may add half, less 1 below 0.
template <bool kSmall>
struct Multiplier32 {
  std::int32_t value, shift, mask, half, sign;
  explicit Multiplier32(const Multiplier& of) noexcept
      : value(of.value),
        shift(of.shift),
        mask(static_cast<std::int32_t>((std::int64_t{1} << of.shift) - 1)),
        half((mask >> 1) + (of.shift > 0 ? 1 : 0)),
        sign(of.shift > 0 ? -1 : 0) {}
  [[gnu::always_inline]] std::int32_t operator()(std::int32_t x) const noexcept {
    // Of the shifted product only the low half is used: a logical shift, which AVX2 has, gives the same.
    const auto nudged = static_cast<std::uint64_t>(std::int64_t{x} * value + (std::int64_t{1} << 30));
    const auto high = static_cast<std::int32_t>(static_cast<std::uint32_t>(nudged >> 31));
    if constexpr (kSmall) return (high + half + ((high >> 31) & sign)) >> shift;
    const std::int32_t threshold = (mask >> 1) + (high < 0 ? 1 : 0);
    return (high >> shift) + ((high & mask) > threshold ? 1 : 0);
  }
};

#if defined(__riscv_vector)
// (a * b + add) >> shift of every lane, in 64 bits, of which the low half is the result.
[[gnu::always_inline]] inline IntLanes scaled_product(IntLanes a, IntLanes b, std::int64_t add,
                                                      int shift) noexcept {
  typedef std::int64_t Wide __attribute__((vector_size(kIntLanes * 8)));
  return __builtin_convertvector(
      (__builtin_convertvector(a, Wide) * __builtin_convertvector(b, Wide) + add) >> shift, IntLanes);
}
#endif

#if defined(__AVX512F__) || defined(__AVX2__) || defined(__aarch64__) || defined(__riscv_vector)
#define RUNNEL_MULTIPLIER_LANES
// Multiplier32<true> of vectors: compilers would multiply 64 by 64 bits.
struct MultiplierLanes {
#if defined(__AVX512F__)
  using Register = __m512i;
#elif defined(__AVX2__)
  using Register = __m256i;
#elif defined(__riscv_vector)
  using Register = IntLanes;
#else
  using Register = int32x4_t;
#endif
  using I = IntLanes;
  I half, sign;
  std::int32_t value, shift;
  explicit MultiplierLanes(const Multiplier& of) noexcept
      : half(Multiplier32<true>(of).half - I{}),
        sign(Multiplier32<true>(of).sign - I{}),
        value(of.value),
        shift(of.shift) {}
  // Before the shift.
  [[gnu::always_inline]] I doubled_high(I x) const noexcept {
    const auto in = reinterpret_cast<Register>(x);
#if defined(__AVX512F__)
    const Register by = _mm512_set1_epi32(value), nudge = _mm512_set1_epi64(std::int64_t{1} << 30);
    const Register even = _mm512_add_epi64(_mm512_mul_epi32(in, by), nudge),
                   odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(in, 32), by), nudge);
    return reinterpret_cast<I>(
        _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1)));
#elif defined(__AVX2__)
    const Register by = _mm256_set1_epi32(value), nudge = _mm256_set1_epi64x(std::int64_t{1} << 30);
    const Register even = _mm256_add_epi64(_mm256_mul_epi32(in, by), nudge),
                   odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(in, 32), by), nudge);
    return reinterpret_cast<I>(
        _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xaa));
#elif defined(__riscv_vector)
    return scaled_product(in, value - I{}, std::int64_t{1} << 30, 31);
#else
    return reinterpret_cast<I>(vqrdmulhq_n_s32(in, value));  // saturates only -2^31 times itself
#endif
  }
  [[gnu::always_inline]] I operator()(I x) const noexcept {
    const I high = doubled_high(x);
    return (high + half + ((high >> 31) & sign)) >> shift;
  }
};
#endif

}  // namespace
}  // namespace runnel::kernels
