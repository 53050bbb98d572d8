// 512-bit vectors for conv_vector.h. Included only by files that are compiled for AVX-512.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace runnel::kernels {
namespace {

#define RUNNEL_VECTOR [[gnu::always_inline]] static inline

struct Avx512 {
  using Int = __m512i;
  static constexpr int kLanes = 16;
  static constexpr int kFrames = 4, kGroups = 1;

  // Zero point and clamp for store_group and store_vector.
  struct Limits {
    Int zero_points, low, high;
    std::int32_t zero_point, lowest, highest;
  };
  RUNNEL_VECTOR Limits limits(std::int32_t zero_point, std::int32_t low, std::int32_t high) noexcept {
    return {_mm512_set1_epi16(static_cast<std::int16_t>(zero_point)),
            _mm512_set1_epi8(static_cast<std::int8_t>(low)),
            _mm512_set1_epi8(static_cast<std::int8_t>(high)),
            zero_point,
            low,
            high};
  }

  struct SumLimits {
    Int low, high;
  };
  RUNNEL_VECTOR SumLimits sum_limits(std::int32_t low, std::int32_t high) noexcept {
    return {_mm512_set1_epi8(static_cast<std::int8_t>(low)),
            _mm512_set1_epi8(static_cast<std::int8_t>(high))};
  }

  RUNNEL_VECTOR void settle(Int& /*a*/) noexcept {}  // enough registers
  RUNNEL_VECTOR Int zero() noexcept { return _mm512_setzero_si512(); }
  RUNNEL_VECTOR Int load(const void* from) noexcept { return _mm512_loadu_si512(from); }
  RUNNEL_VECTOR void store(void* to, Int a) noexcept { _mm512_storeu_si512(to, a); }
  RUNNEL_VECTOR Int repeat(std::int32_t a) noexcept { return _mm512_set1_epi32(a); }
  RUNNEL_VECTOR Int repeat4(const std::int8_t* from) noexcept {
    std::int32_t four;
    __builtin_memcpy(&four, from, 4);
    return _mm512_set1_epi32(four);
  }
  // 4 vectors to bytes, saturated, in the lane order of ConvPlan.
  RUNNEL_VECTOR Int pack_bytes(const Int* v) noexcept {
    return _mm512_packs_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
  }
  RUNNEL_VECTOR Int add_bytes(Int a, Int b) noexcept { return _mm512_adds_epi8(a, b); }
  RUNNEL_VECTOR Int max_bytes(Int a, Int b) noexcept { return _mm512_max_epi8(a, b); }
  RUNNEL_VECTOR Int add(Int a, Int b) noexcept { return _mm512_add_epi32(a, b); }
  RUNNEL_VECTOR Int sub(Int a, Int b) noexcept { return _mm512_sub_epi32(a, b); }
  RUNNEL_VECTOR Int bit_and(Int a, Int b) noexcept { return _mm512_and_si512(a, b); }
  RUNNEL_VECTOR Int shift_right(Int a, Int by) noexcept { return _mm512_srav_epi32(a, by); }
  RUNNEL_VECTOR Int shift_left(Int a, Int by) noexcept { return _mm512_sllv_epi32(a, by); }
  RUNNEL_VECTOR Int sign(Int a) noexcept { return _mm512_srai_epi32(a, 31); }
  RUNNEL_VECTOR Int half_of(Int a) noexcept { return _mm512_srli_epi32(a, 1); }
  // Clears the lowest bit where `test` is 0.
  RUNNEL_VECTOR Int make_even_where_zero(Int a, Int test) noexcept {
    return _mm512_mask_and_epi32(a, _mm512_testn_epi32_mask(test, test), a, _mm512_set1_epi32(-2));
  }
  // a + 1 where b > c.
  RUNNEL_VECTOR Int add_where_greater(Int a, Int b, Int c) noexcept {
    return _mm512_mask_add_epi32(a, _mm512_cmpgt_epi32_mask(b, c), a, _mm512_set1_epi32(1));
  }
  // (a * b + nudge) / 2^31, rounded down.
  RUNNEL_VECTOR Int multiply_high31(Int a, Int b, Int nudge) noexcept {
    const Int low_nudge = _mm512_and_si512(nudge, _mm512_set1_epi64(0xffffffff));
    const Int even = _mm512_add_epi64(_mm512_mul_epi32(a, b), low_nudge);
    const Int odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32)),
                                     _mm512_srli_epi64(nudge, 32));
    return _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
  }
  // (a * b + 2^30) / 2^31, rounded down.
  RUNNEL_VECTOR Int doubled_high(Int a, Int b) noexcept {
    const Int nudge = _mm512_set1_epi64(std::int64_t{1} << 30);
    const Int even = _mm512_add_epi64(_mm512_mul_epi32(a, b), nudge);
    const Int odd =
        _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32)), nudge);
    return _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
  }

  // 64 channels in the lane order of ConvPlan; saturating to 16 bits first changes nothing, since zero points
  // are 8 bits.
  RUNNEL_VECTOR Int pack_group(const Int* v, const Limits& limits) noexcept {
    const Int a = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), limits.zero_points);
    const Int b = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), limits.zero_points);
    Int bytes = _mm512_packs_epi16(a, b);
    bytes = _mm512_max_epi8(bytes, limits.low);
    return _mm512_min_epi8(bytes, limits.high);
  }
  // The first `count` of 64 channels.
  RUNNEL_VECTOR std::uint64_t group_mask(std::int32_t count) noexcept {
    return ~std::uint64_t{0} >> (64 - count);
  }
  RUNNEL_VECTOR Int add_group(Int bytes, const std::int8_t* addend, std::int32_t count,
                              const SumLimits& limits) noexcept {
    const Int sum = _mm512_adds_epi8(
        bytes, count == 64 ? _mm512_loadu_si512(addend) : _mm512_maskz_loadu_epi8(group_mask(count), addend));
    return _mm512_min_epi8(_mm512_max_epi8(sum, limits.low), limits.high);
  }
  RUNNEL_VECTOR void store_group(Int bytes, std::int8_t* y, std::int32_t count) noexcept {
    if (count == 64)
      _mm512_storeu_si512(y, bytes);
    else
      _mm512_mask_storeu_epi8(y, group_mask(count), bytes);
  }
  // 16 channels in plain order.
  RUNNEL_VECTOR __m128i pack_vector(Int a, const Limits& limits) noexcept {
    a = _mm512_add_epi32(a, _mm512_set1_epi32(limits.zero_point));
    a = _mm512_max_epi32(a, _mm512_set1_epi32(limits.lowest));
    a = _mm512_min_epi32(a, _mm512_set1_epi32(limits.highest));
    return _mm512_cvtepi32_epi8(a);
  }
  RUNNEL_VECTOR __mmask16 vector_mask(std::int32_t count) noexcept {
    return static_cast<__mmask16>((std::uint32_t{1} << count) - 1);
  }
  RUNNEL_VECTOR __m128i add_vector(__m128i bytes, const std::int8_t* addend, std::int32_t count,
                                   const SumLimits& limits) noexcept {
    const __m128i sum = _mm_adds_epi8(bytes, _mm_maskz_loadu_epi8(vector_mask(count), addend));
    return _mm_min_epi8(_mm_max_epi8(sum, _mm512_castsi512_si128(limits.low)),
                        _mm512_castsi512_si128(limits.high));
  }
  RUNNEL_VECTOR void store_vector(__m128i bytes, std::int8_t* y, std::int32_t count) noexcept {
    _mm_mask_storeu_epi8(y, vector_mask(count), bytes);
  }

  RUNNEL_VECTOR void interleave(Int r0, Int r1, Int r2, Int r3, Int* out) noexcept {
    const Int a = _mm512_unpacklo_epi8(r0, r1), b = _mm512_unpackhi_epi8(r0, r1);
    const Int c = _mm512_unpacklo_epi8(r2, r3), d = _mm512_unpackhi_epi8(r2, r3);
    out[0] = _mm512_unpacklo_epi16(a, c);
    out[1] = _mm512_unpackhi_epi16(a, c);
    out[2] = _mm512_unpacklo_epi16(b, d);
    out[3] = _mm512_unpackhi_epi16(b, d);
  }
  // interleave(r, 0, 0, 0) with fewer instructions.
  RUNNEL_VECTOR void spread_bytes(Int r, Int* out) noexcept {
    const Int lanes = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, -128, -128, -128, 1, -128, -128, -128, 2, -128, -128, -128, 3, -128, -128, -128));
    const Int steps = _mm512_set1_epi32(4);
    out[0] = _mm512_shuffle_epi8(r, lanes);
    out[1] = _mm512_shuffle_epi8(r, _mm512_add_epi8(lanes, steps));
    out[2] = _mm512_shuffle_epi8(r, _mm512_add_epi8(lanes, _mm512_slli_epi32(steps, 1)));
    out[3] = _mm512_shuffle_epi8(r, _mm512_add_epi8(lanes, _mm512_set1_epi32(12)));
  }
};

}  // namespace
}  // namespace runnel::kernels
