#include <immintrin.h>

#include "kernels/elementwise/affine_loops.h"
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {
namespace {

// A byte shuffle looks up 16 entries and gives 0 where the position is negative. Rows hold the differences
// (by exclusive or) between 16 entries and the 16 before them: with the position lowered by 16 from row to
// row, the sum of what the rows give is the entry, since rows after the position's give 0. Negative x have
// their own eight rows.
void lut8_avx2(std::size_t count, const std::int8_t* x, std::int8_t* y, const std::int8_t* table) noexcept {
  constexpr std::size_t kWorthRows = 64;
  if (count < kWorthRows) return lut8_loops(count, x, y, table);
  __m256i rows[2][8];
  for (int sign = 0; sign < 2; ++sign) {
    __m128i before = _mm_setzero_si128();
    for (int k = 0; k < 8; ++k) {
      const __m128i now = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 128 * sign + 16 * k));
      rows[sign][k] = _mm256_broadcastsi128_si256(_mm_xor_si128(now, before));
      before = now;
    }
  }
  const __m256i step = _mm256_set1_epi8(16), middle = _mm256_set1_epi8(-128);
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256i upper = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    __m256i lower = _mm256_xor_si256(upper, middle), found = _mm256_setzero_si256();
    for (int k = 0; k < 8; ++k) {
      found = _mm256_xor_si256(found, _mm256_shuffle_epi8(rows[0][k], lower));
      found = _mm256_xor_si256(found, _mm256_shuffle_epi8(rows[1][k], upper));
      lower = _mm256_subs_epi8(lower, step);
      upper = _mm256_subs_epi8(upper, step);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), found);
  }
  lut8_loops(count - i, x + i, y + i, table);
}

constexpr Elementwise kAvx2{binary_loops, requantize_loops, lut8_avx2,
                            lut16_loops,  quantize_loops,   dequantize_loops};

}  // namespace

const Elementwise& elementwise_avx2() noexcept { return kAvx2; }
AffinePairs affine_pairs_avx2() noexcept { return affine_loops; }
AffineConversions affine_conversions_avx2() noexcept { return {quantize_loops, dequantize_loops, Isa::avx2}; }

}  // namespace runnel::kernels
