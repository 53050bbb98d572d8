#include <immintrin.h>

#include "kernels/conv/x86/conv16_vector.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_VECTOR [[gnu::always_inline]] static inline

struct Avx512 {
  using Int = __m512i;
  struct Sum {
    __m512i low, high;  // lanes 0 to 7, 8 to 15
  };
  static constexpr int kLanes = 16;

  RUNNEL_VECTOR Int zero() noexcept { return _mm512_setzero_si512(); }
  RUNNEL_VECTOR Int load(const void* from) noexcept { return _mm512_loadu_si512(from); }
  RUNNEL_VECTOR Int repeat2(const std::int16_t* from) noexcept {
    std::int32_t two;
    __builtin_memcpy(&two, from, 4);
    return _mm512_set1_epi32(two);
  }
  // a[lane] below b[lane].
  RUNNEL_VECTOR Int pairs(const std::int16_t* a, const std::int16_t* b) noexcept {
    return _mm512_or_si512(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a))),
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(b))),
                          16));
  }
  RUNNEL_VECTOR Int add_products(Int sum, Int x, Int w) noexcept {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(x, w));
  }
  RUNNEL_VECTOR Sum load_sum(const std::int64_t* from) noexcept {
    return {_mm512_loadu_si512(from), _mm512_loadu_si512(from + 8)};
  }
  RUNNEL_VECTOR void store_sum(std::int64_t* to, const Sum& sum) noexcept {
    _mm512_storeu_si512(to, sum.low);
    _mm512_storeu_si512(to + 8, sum.high);
  }
  RUNNEL_VECTOR void widen(Sum& total, Int sum) noexcept {
    total.low = _mm512_add_epi64(total.low, _mm512_cvtepi32_epi64(_mm512_castsi512_si256(sum)));
    total.high = _mm512_add_epi64(total.high, _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(sum, 1)));
  }
  // The half is already in the sum. No bits left below mean a tie, which half_even makes even.
  RUNNEL_VECTOR __m512i shift_half(__m512i sum, const std::int64_t* by, const std::int64_t* mask,
                                   bool even) noexcept {
    const __m512i rounded = _mm512_srav_epi64(sum, _mm512_loadu_si512(by));
    if (!even) return rounded;
    const __mmask8 tie = _mm512_testn_epi64_mask(sum, _mm512_loadu_si512(mask));
    return _mm512_mask_and_epi64(rounded, tie, rounded, _mm512_set1_epi64(-2));
  }
  RUNNEL_VECTOR Sum shift(const Sum& sum, const Wide& wide, std::int32_t first) noexcept {
    return {shift_half(sum.low, wide.shift + first, wide.mask + first, wide.even),
            shift_half(sum.high, wide.shift + first + 8, wide.mask + first + 8, wide.even)};
  }
  RUNNEL_VECTOR void store(const Sum& sum, std::int32_t low, std::int32_t high, std::int16_t* y,
                           std::int32_t count) noexcept {
    __m256i values = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm512_cvtsepi64_epi16(sum.low)),
                                             _mm512_cvtsepi64_epi16(sum.high), 1);
    values = _mm256_max_epi16(values, _mm256_set1_epi16(static_cast<std::int16_t>(low)));
    values = _mm256_min_epi16(values, _mm256_set1_epi16(static_cast<std::int16_t>(high)));
    if (count == 16)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), values);
    else
      _mm256_mask_storeu_epi16(y, static_cast<__mmask16>((1U << count) - 1), values);
  }
};

}  // namespace

Conv16Kernels conv16_avx512(bool depthwise) noexcept { return kernels16<Avx512>(depthwise); }

}  // namespace runnel::kernels
