#include <immintrin.h>

#include <cstdint>

#include "kernels/conv/conv_vector.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_VECTOR [[gnu::always_inline]] static inline

struct Avx2 {
  using Int = __m256i;
  static constexpr int kLanes = 8;
  static constexpr int kFrames = 1, kGroups = 2;  // 8 sums leave 8 of 16 registers

  // Zero point and clamp for store_group and store_vector.
  struct Limits {
    Int zero_points, low, high;
    std::int32_t zero_point, lowest, highest;
  };
  RUNNEL_VECTOR Limits limits(std::int32_t zero_point, std::int32_t low, std::int32_t high) noexcept {
    return {_mm256_set1_epi16(static_cast<std::int16_t>(zero_point)),
            _mm256_set1_epi8(static_cast<std::int8_t>(low)),
            _mm256_set1_epi8(static_cast<std::int8_t>(high)),
            zero_point,
            low,
            high};
  }

  struct SumLimits {
    Int low, high;
  };
  RUNNEL_VECTOR SumLimits sum_limits(std::int32_t low, std::int32_t high) noexcept {
    return {_mm256_set1_epi8(static_cast<std::int8_t>(low)),
            _mm256_set1_epi8(static_cast<std::int8_t>(high))};
  }

  // Forces `a` to be computed here: compilers would sum products of several steps first and run
  // out of registers.
  RUNNEL_VECTOR void settle(Int& a) noexcept { asm("" : "+x"(a)); }
  RUNNEL_VECTOR Int zero() noexcept { return _mm256_setzero_si256(); }
  RUNNEL_VECTOR Int load(const void* from) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  RUNNEL_VECTOR void store(void* to, Int a) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(to), a); }
  RUNNEL_VECTOR Int repeat(std::int32_t a) noexcept { return _mm256_set1_epi32(a); }
  RUNNEL_VECTOR Int repeat4(const std::int8_t* from) noexcept {
    std::int32_t four;
    __builtin_memcpy(&four, from, 4);
    return _mm256_set1_epi32(four);
  }
  // 4 vectors to bytes, saturated, in the lane order of ConvPlan.
  RUNNEL_VECTOR Int pack_bytes(const Int* v) noexcept {
    return _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
  }
  RUNNEL_VECTOR Int add_bytes(Int a, Int b) noexcept { return _mm256_adds_epi8(a, b); }
  RUNNEL_VECTOR Int max_bytes(Int a, Int b) noexcept { return _mm256_max_epi8(a, b); }
  RUNNEL_VECTOR Int add(Int a, Int b) noexcept { return _mm256_add_epi32(a, b); }
  RUNNEL_VECTOR Int sub(Int a, Int b) noexcept { return _mm256_sub_epi32(a, b); }
  RUNNEL_VECTOR Int bit_and(Int a, Int b) noexcept { return _mm256_and_si256(a, b); }
  RUNNEL_VECTOR Int shift_right(Int a, Int by) noexcept { return _mm256_srav_epi32(a, by); }
  RUNNEL_VECTOR Int shift_left(Int a, Int by) noexcept { return _mm256_sllv_epi32(a, by); }
  RUNNEL_VECTOR Int sign(Int a) noexcept { return _mm256_srai_epi32(a, 31); }
  RUNNEL_VECTOR Int half_of(Int a) noexcept { return _mm256_srli_epi32(a, 1); }
  // Clears the lowest bit where `test` is 0.
  RUNNEL_VECTOR Int make_even_where_zero(Int a, Int test) noexcept {
    return _mm256_andnot_si256(_mm256_srli_epi32(_mm256_cmpeq_epi32(test, zero()), 31), a);
  }
  // a + 1 where b > c.
  RUNNEL_VECTOR Int add_where_greater(Int a, Int b, Int c) noexcept {
    return _mm256_sub_epi32(a, _mm256_cmpgt_epi32(b, c));
  }
  // (a * b + nudge) / 2^31, rounded down.
  RUNNEL_VECTOR Int multiply_high31(Int a, Int b, Int nudge) noexcept {
    const Int low_nudge = _mm256_and_si256(nudge, _mm256_set1_epi64x(0xffffffff));
    const Int even = _mm256_add_epi64(_mm256_mul_epi32(a, b), low_nudge);
    const Int odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32)),
                                     _mm256_srli_epi64(nudge, 32));
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xaa);
  }
  // (a * b + 2^30) / 2^31, rounded down.
  RUNNEL_VECTOR Int doubled_high(Int a, Int b) noexcept {
    const Int nudge = _mm256_set1_epi64x(std::int64_t{1} << 30);
    const Int even = _mm256_add_epi64(_mm256_mul_epi32(a, b), nudge);
    const Int odd =
        _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32)), nudge);
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xaa);
  }

  // 32 channels in the lane order of ConvPlan; saturating to 16 bits first changes nothing, since zero points
  // are 8 bits.
  RUNNEL_VECTOR Int pack_group(const Int* v, const Limits& limits) noexcept {
    const Int a = _mm256_adds_epi16(_mm256_packs_epi32(v[0], v[1]), limits.zero_points);
    const Int b = _mm256_adds_epi16(_mm256_packs_epi32(v[2], v[3]), limits.zero_points);
    Int bytes = _mm256_packs_epi16(a, b);
    bytes = _mm256_max_epi8(bytes, limits.low);
    return _mm256_min_epi8(bytes, limits.high);
  }
  RUNNEL_VECTOR Int add_group(Int bytes, const std::int8_t* addend, std::int32_t count,
                              const SumLimits& limits) noexcept {
    alignas(32) std::int8_t all[32] = {};
    if (count < 32) {
      for (std::int32_t i = 0; i < count; ++i) all[i] = addend[i];
      addend = all;
    }
    return _mm256_min_epi8(_mm256_max_epi8(_mm256_adds_epi8(bytes, load(addend)), limits.low), limits.high);
  }
  RUNNEL_VECTOR void store_group(Int bytes, std::int8_t* y, std::int32_t count) noexcept {
    if (count == 32) {
      store(y, bytes);
      return;
    }
    alignas(32) std::int8_t all[32];
    store(all, bytes);
    for (std::int32_t i = 0; i < count; ++i) y[i] = all[i];
  }
  // 8 channels in plain order.
  RUNNEL_VECTOR __m128i pack_vector(Int a, const Limits& limits) noexcept {
    a = _mm256_add_epi32(a, _mm256_set1_epi32(limits.zero_point));
    a = _mm256_max_epi32(a, _mm256_set1_epi32(limits.lowest));
    a = _mm256_min_epi32(a, _mm256_set1_epi32(limits.highest));
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    return _mm_packs_epi16(words, words);
  }
  RUNNEL_VECTOR __m128i add_vector(__m128i bytes, const std::int8_t* addend, std::int32_t count,
                                   const SumLimits& limits) noexcept {
    std::int64_t eight = 0;
    if (count == 8)
      __builtin_memcpy(&eight, addend, 8);
    else {
      for (std::int32_t i = 0; i < count; ++i)
        eight |= static_cast<std::int64_t>(std::uint64_t{static_cast<std::uint8_t>(addend[i])} << (8 * i));
    }
    const __m128i sum = _mm_adds_epi8(bytes, _mm_cvtsi64_si128(eight));
    return _mm_min_epi8(_mm_max_epi8(sum, _mm256_castsi256_si128(limits.low)),
                        _mm256_castsi256_si128(limits.high));
  }
  RUNNEL_VECTOR void store_vector(__m128i bytes, std::int8_t* y, std::int32_t count) noexcept {
    std::int64_t eight = _mm_cvtsi128_si64(bytes);
    if (count == 8)
      __builtin_memcpy(y, &eight, 8);
    else {
      for (std::int32_t i = 0; i < count; ++i, eight >>= 8) y[i] = static_cast<std::int8_t>(eight);
    }
  }

  RUNNEL_VECTOR void interleave(Int r0, Int r1, Int r2, Int r3, Int* out) noexcept {
    const Int a = _mm256_unpacklo_epi8(r0, r1), b = _mm256_unpackhi_epi8(r0, r1);
    const Int c = _mm256_unpacklo_epi8(r2, r3), d = _mm256_unpackhi_epi8(r2, r3);
    out[0] = _mm256_unpacklo_epi16(a, c);
    out[1] = _mm256_unpackhi_epi16(a, c);
    out[2] = _mm256_unpacklo_epi16(b, d);
    out[3] = _mm256_unpackhi_epi16(b, d);
  }
  RUNNEL_VECTOR void spread_bytes(Int r, Int* out) noexcept { interleave(r, zero(), zero(), zero(), out); }
};

// x in 0..127: vpmaddubsw adds two products in int16, at most 2 * 127 * 128 = 32512: it never saturates.
struct Unsigned {
  using Weights = __m256i;
  static constexpr int kVectorBytes = 32;
  template <int kSums>
  static constexpr int chains() noexcept {
    return 1;
  }
  RUNNEL_VECTOR Weights weights(const std::int8_t* from) noexcept { return Avx2::load(from); }
  RUNNEL_VECTOR __m256i input(__m256i x) noexcept { return x; }
  RUNNEL_VECTOR __m256i spread(__m256i x) noexcept { return x; }
  RUNNEL_VECTOR __m256i row(const std::int8_t* from) noexcept { return Avx2::load(from); }
  RUNNEL_VECTOR __m256i add(__m256i sum, __m256i x, Weights w) noexcept {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1)));
  }
};

// Any x: int16 products with vpmaddwd, inputs 0 and 2, then 1 and 3 of each lane.
struct Signed {
  struct Pair {
    __m256i even, odd;
  };
  using Weights = Pair;
  static constexpr int kVectorBytes = 64;
  template <int kSums>
  static constexpr int chains() noexcept {
    return 1;
  }
  RUNNEL_VECTOR Weights weights(const std::int8_t* from) noexcept {
    return {Avx2::load(from), Avx2::load(from + 32)};
  }
  RUNNEL_VECTOR Pair input(__m256i x) noexcept {
    return {_mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8), _mm256_srai_epi16(x, 8)};
  }
  RUNNEL_VECTOR Pair spread(__m256i x) noexcept { return input(x); }
  RUNNEL_VECTOR __m256i row(const std::int8_t* from) noexcept { return Avx2::load(from); }
  RUNNEL_VECTOR __m256i add(__m256i sum, Pair x, Weights w) noexcept {
    return _mm256_add_epi32(
        sum, _mm256_add_epi32(_mm256_madd_epi16(x.even, w.even), _mm256_madd_epi16(x.odd, w.odd)));
  }
};

// Any x, for dense windows: x as |x| and a sign. Where x < 0 the weight's bits are flipped, which gives -w -
// 1: |x| * (-w - 1) is x * w - |x|, and the missing sum of these |x| is the same for all channels. vpmaddubsw
// adds two products from -128 * 128 to 128 * 127, which int16 holds. Half of Signed's weight bytes, and fewer
// multiplications than with vpmovsxbw.
struct Folded {
  struct Input {
    __m256i size, flip;
  };
  using Weights = __m256i;
  static constexpr int kVectorBytes = 32;
  template <int kSums>
  static constexpr int chains() noexcept {
    return 1;
  }
  RUNNEL_VECTOR Weights weights(const std::int8_t* from) noexcept { return Avx2::load(from); }
  RUNNEL_VECTOR Input input(__m256i x) noexcept {
    return {_mm256_abs_epi8(x), _mm256_cmpgt_epi8(_mm256_setzero_si256(), x)};
  }
  RUNNEL_VECTOR __m256i add(__m256i sum, Input x, Weights w) noexcept {
    return Unsigned::add(sum, x.size, _mm256_xor_si256(w, x.flip));
  }

  // Adds the sum of |x| where x < 0 to `missing`, as partial sums: spread_missing() adds them up
  // for all lanes.
  RUNNEL_VECTOR __m256i miss(__m256i missing, const std::int8_t* x, std::int64_t bytes) noexcept {
    for (; bytes >= 32; bytes -= 32, x += 32) missing = miss(missing, Avx2::load(x));
    if (bytes == 0) return missing;
    const __m256i numbers = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
                                             19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    return miss(missing, _mm256_and_si256(
                             Avx2::load(x),
                             _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<std::int8_t>(bytes)), numbers)));
  }
  RUNNEL_VECTOR __m256i miss(__m256i missing, __m256i x) noexcept {
    const __m256i size = _mm256_abs_epi8(_mm256_min_epi8(x, _mm256_setzero_si256()));
    return _mm256_add_epi32(missing, _mm256_sad_epu8(size, _mm256_setzero_si256()));
  }
  RUNNEL_VECTOR __m256i spread_missing(__m256i missing) noexcept {
    const __m128i half = _mm_add_epi32(_mm256_castsi256_si128(missing), _mm256_extracti128_si256(missing, 1));
    return _mm256_broadcastd_epi32(_mm_add_epi32(half, _mm_unpackhi_epi64(half, half)));
  }
};

// Any x, weights in pairs of which not both are -128 (packed as in ConvPlan): x + 128 or 127 - x, whichever
// makes the signs of a pair's weights differ. vpmaddubsw then adds two products from -255 * 128 to 255 * 127,
// which int16 holds. The excess is a constant per channel, subtracted in the bias.
struct Paired {
  struct Pair {
    __m256i mask, weight;
  };
  using Weights = Pair;
  static constexpr int kVectorBytes = 64;
  template <int kSums>
  static constexpr int chains() noexcept {
    return 1;
  }
  RUNNEL_VECTOR Weights weights(const std::int8_t* from) noexcept {
    return {Avx2::load(from), Avx2::load(from + 32)};
  }
  RUNNEL_VECTOR __m256i input(__m256i x) noexcept { return x; }
  RUNNEL_VECTOR __m256i spread(__m256i x) noexcept { return x; }
  RUNNEL_VECTOR __m256i row(const std::int8_t* from) noexcept { return Avx2::load(from); }
  RUNNEL_VECTOR __m256i add(__m256i sum, __m256i x, Weights w) noexcept {
    return Unsigned::add(sum, _mm256_xor_si256(x, w.mask), w.weight);
  }
};

constexpr VectorConv kByteConv = {
    dense_kernels<Avx2, Unsigned>(), dense_kernels<Avx2, Folded>(), depthwise_kernels<Avx2, Unsigned>(), {}};
constexpr VectorConv kPairedConv = vector_conv<Avx2, Unsigned, Paired>();
constexpr VectorConv kWideConv = vector_conv<Avx2, Unsigned, Signed>();

}  // namespace

const VectorConv& vector_conv_avx2(WeightForm form) noexcept {
  return form == WeightForm::bytes ? kByteConv : form == WeightForm::paired ? kPairedConv : kWideConv;
}

}  // namespace runnel::kernels
