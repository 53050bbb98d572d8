// Products of computed matrices in pairs of 16-bit products.
#include <algorithm>

#include "kernels/transformer/integer_products.h"
#include "kernels/transformer/integer_products_loops.h"

namespace runnel::kernels {
namespace {

std::int32_t pair_of(const std::int16_t* values, bool both) noexcept {
  return static_cast<std::int32_t>(
      static_cast<std::uint16_t>(values[0]) |
      static_cast<std::uint32_t>(static_cast<std::uint16_t>(both ? values[1] : 0)) << 16);
}

struct Sums {
  // sums[row][n] for kCount rows, whose `inner` elements are in `a`, and all columns.
  template <int kCount>
  static void bytes(std::int32_t inner, std::int32_t columns, const std::int16_t* a, const std::int8_t* b,
                    std::int32_t* sums) noexcept {
    const auto sixteen = [](const std::int8_t* from) {
      return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    };
    std::int32_t n = 0;
    for (; n + 16 <= columns; n += 16) {
      __m256i low[kCount], high[kCount];  // columns 0-3 and 8-11, 4-7 and 12-15
      for (int row = 0; row < kCount; ++row) low[row] = high[row] = _mm256_setzero_si256();
      for (std::int32_t k = 0; k < inner; k += 2) {
        const bool both = k + 1 < inner;
        const std::int8_t* const line = b + std::int64_t{k} * columns + n;
        const __m256i first = sixteen(line), second = both ? sixteen(line + columns) : _mm256_setzero_si256();
        const __m256i left = _mm256_unpacklo_epi16(first, second),
                      right = _mm256_unpackhi_epi16(first, second);
        for (int row = 0; row < kCount; ++row) {
          const __m256i pair = _mm256_set1_epi32(pair_of(a + row * inner + k, both));
          low[row] = _mm256_add_epi32(low[row], _mm256_madd_epi16(left, pair));
          high[row] = _mm256_add_epi32(high[row], _mm256_madd_epi16(right, pair));
        }
      }
      for (int row = 0; row < kCount; ++row) {
        auto* const to = reinterpret_cast<__m256i*>(sums + row * columns + n);
        _mm256_storeu_si256(to, _mm256_permute2x128_si256(low[row], high[row], 0x20));
        _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(low[row], high[row], 0x31));
      }
    }
    // The last eight columns overlap those before them, which get the same sums again.
    for (; n < columns && columns >= 8; n += 8) {
      n = std::min(n, columns - 8);
      __m128i low[kCount], high[kCount];
      for (int row = 0; row < kCount; ++row) low[row] = high[row] = _mm_setzero_si128();
      for (std::int32_t k = 0; k < inner; k += 2) {
        const bool both = k + 1 < inner;
        const std::int8_t* const line = b + std::int64_t{k} * columns + n;
        const auto eight = [](const std::int8_t* from) {
          return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
        };
        const __m128i first = eight(line), second = both ? eight(line + columns) : _mm_setzero_si128();
        const __m128i left = _mm_unpacklo_epi16(first, second), right = _mm_unpackhi_epi16(first, second);
        for (int row = 0; row < kCount; ++row) {
          const __m128i pair = _mm_set1_epi32(pair_of(a + row * inner + k, both));
          low[row] = _mm_add_epi32(low[row], _mm_madd_epi16(left, pair));
          high[row] = _mm_add_epi32(high[row], _mm_madd_epi16(right, pair));
        }
      }
      for (int row = 0; row < kCount; ++row) {
        auto* const to = reinterpret_cast<__m128i*>(sums + row * columns + n);
        _mm_storeu_si128(to, low[row]);
        _mm_storeu_si128(to + 1, high[row]);
      }
    }
    for (; n < columns; ++n) {
      for (int row = 0; row < kCount; ++row) {
        std::int32_t sum = 0;
        for (std::int32_t k = 0; k < inner; ++k)
          sum += std::int32_t{a[row * inner + k]} * b[std::int64_t{k} * columns + n];
        sums[row * columns + n] = sum;
      }
    }
  }
  // One row of words: sums[n]. Pairs of products fit into 32 bits unless all factors are -32768.
  static void words(std::int32_t inner, std::int32_t columns, const std::int16_t* a, const std::int16_t* b,
                    std::int64_t* sums) noexcept {
    bool lowest = false;
    for (std::int32_t k = 0; k < inner; ++k) lowest = lowest || a[k] == -32768;
    std::int32_t n = 0;
    for (; !lowest && n < columns && columns >= 8; n += 8) {
      n = std::min(n, columns - 8);  // as for bytes
      __m256i low = _mm256_setzero_si256(), high = low;
      for (std::int32_t k = 0; k < inner; k += 2) {
        const bool both = k + 1 < inner;
        const std::int16_t* const line = b + std::int64_t{k} * columns + n;
        const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(line)),
                      second = both ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(line + columns))
                                    : _mm_setzero_si128();
        const __m128i pair = _mm_set1_epi32(pair_of(a + k, both));
        low = _mm256_add_epi64(
            low, _mm256_cvtepi32_epi64(_mm_madd_epi16(_mm_unpacklo_epi16(first, second), pair)));
        high = _mm256_add_epi64(
            high, _mm256_cvtepi32_epi64(_mm_madd_epi16(_mm_unpackhi_epi16(first, second), pair)));
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + n), low);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + n + 4), high);
    }
    for (; n < columns; ++n) {
      sums[n] = 0;
      for (std::int32_t k = 0; k < inner; ++k)
        sums[n] += std::int32_t{a[k]} * std::int32_t{b[std::int64_t{k} * columns + n]};
    }
  }
};

}  // namespace

void byte_products_avx2(const MatmulSpec& spec, const void* a, const void* b, void* y,
                        void* scratch) noexcept {
  byte_products<Sums>(spec, a, b, y, scratch);
}
void word_products_avx2(const MatmulSpec& spec, const void* a, const void* b, void* y,
                        void* scratch) noexcept {
  word_products<Sums>(spec, a, b, y, scratch);
}

}  // namespace runnel::kernels
