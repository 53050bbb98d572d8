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
  static constexpr bool kShifts = false;  // there is no arithmetic shift of int64

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
};

}  // namespace

Conv16Kernels conv16_avx2(bool depthwise) noexcept { return kernels16<Avx2>(depthwise); }

}  // namespace runnel::kernels
