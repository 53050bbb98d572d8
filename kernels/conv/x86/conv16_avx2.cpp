#include <immintrin.h>

#include "kernels/conv/x86/conv16_vector.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_VECTOR [[gnu::always_inline]] static inline

struct Avx2 {
  using Int = __m256i;
  struct Sum {
    __m256i low, high;  // lanes 0 to 3, 4 to 7
  };
  static constexpr int kLanes = 8;

  RUNNEL_VECTOR Int zero() noexcept { return _mm256_setzero_si256(); }
  RUNNEL_VECTOR Int load(const void* from) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  RUNNEL_VECTOR Int repeat2(const std::int16_t* from) noexcept {
    std::int32_t two;
    __builtin_memcpy(&two, from, 4);
    return _mm256_set1_epi32(two);
  }
  // a[lane] below b[lane].
  RUNNEL_VECTOR Int pairs(const std::int16_t* a, const std::int16_t* b) noexcept {
    return _mm256_or_si256(
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a))),
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b))), 16));
  }
  RUNNEL_VECTOR Int add_products(Int sum, Int x, Int w) noexcept {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
  }
  RUNNEL_VECTOR Sum load_sum(const std::int64_t* from) noexcept { return {load(from), load(from + 4)}; }
  RUNNEL_VECTOR void store_sum(std::int64_t* to, const Sum& sum) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sum.low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 4), sum.high);
  }
  RUNNEL_VECTOR void widen(Sum& total, Int sum) noexcept {
    total.low = _mm256_add_epi64(total.low, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum)));
    total.high = _mm256_add_epi64(total.high, _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sum, 1)));
  }
  // The half is already in the sum. No bits left below mean a tie, which half_even makes even. There is no
  // arithmetic shift of int64: negative numbers are shifted as their complements.
  RUNNEL_VECTOR __m256i shift_half(__m256i sum, const std::int64_t* by, const std::int64_t* mask,
                                   bool even) noexcept {
    const __m256i sign = _mm256_cmpgt_epi64(zero(), sum);
    const __m256i rounded = _mm256_xor_si256(_mm256_srlv_epi64(_mm256_xor_si256(sum, sign), load(by)), sign);
    if (!even) return rounded;
    const __m256i tie = _mm256_cmpeq_epi64(_mm256_and_si256(sum, load(mask)), zero());
    return _mm256_andnot_si256(_mm256_and_si256(tie, _mm256_set1_epi64x(1)), rounded);
  }
  RUNNEL_VECTOR Sum shift(const Sum& sum, const Wide& wide, std::int32_t first) noexcept {
    return {shift_half(sum.low, wide.shift + first, wide.mask + first, wide.even),
            shift_half(sum.high, wide.shift + first + 4, wide.mask + first + 4, wide.even)};
  }
  // Four numbers within the limits, in the low halves of 64 bits, as int32.
  RUNNEL_VECTOR __m128i clamped(__m256i sum, __m256i low, __m256i high) noexcept {
    sum = _mm256_blendv_epi8(sum, low, _mm256_cmpgt_epi64(low, sum));
    sum = _mm256_blendv_epi8(sum, high, _mm256_cmpgt_epi64(sum, high));
    return _mm256_castsi256_si128(
        _mm256_permutevar8x32_epi32(sum, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)));
  }
  RUNNEL_VECTOR void store(const Sum& sum, std::int32_t low, std::int32_t high, std::int16_t* y,
                           std::int32_t count) noexcept {
    const __m256i lowest = _mm256_set1_epi64x(low), highest = _mm256_set1_epi64x(high);
    const __m128i values =
        _mm_packs_epi32(clamped(sum.low, lowest, highest), clamped(sum.high, lowest, highest));
    if (count == kLanes)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y), values);
    else
      __builtin_memcpy(y, &values, static_cast<std::size_t>(count) * sizeof *y);
  }
};

}  // namespace

Conv16Kernels conv16_avx2(bool depthwise) noexcept { return kernels16<Avx2>(depthwise); }

}  // namespace runnel::kernels
