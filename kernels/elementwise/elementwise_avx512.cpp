#include <immintrin.h>

#include "kernels/elementwise/affine_loops.h"
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {
namespace {

// A table of 256 bytes as four vectors of 16-bit words, which a permutation of two vectors looks up 64 at a
// time.
struct WordTable {
  __m512i words[4];
  // Bytes of the table in the low half of each word, whatever is above; positions: 0 to 255 in each word.
  [[gnu::always_inline]] __m512i at(__m512i positions) const noexcept {
    const __m512i word = _mm512_srli_epi16(positions, 1);
    const __m512i found = _mm512_mask_blend_epi16(_mm512_movepi16_mask(_mm512_slli_epi16(positions, 8)),
                                                  _mm512_permutex2var_epi16(words[0], word, words[1]),
                                                  _mm512_permutex2var_epi16(words[2], word, words[3]));
    const __m512i odd = _mm512_and_si512(_mm512_slli_epi16(positions, 3), _mm512_set1_epi16(8));
    return _mm512_srlv_epi16(found, odd);
  }
};

void lut8_avx512(std::size_t count, const std::int8_t* x, std::int8_t* y, const std::int8_t* table) noexcept {
  WordTable lookup;
  for (int k = 0; k < 4; ++k) lookup.words[k] = _mm512_loadu_si512(table + 64 * k);
  const __m512i low = _mm512_set1_epi16(0xff), middle = _mm512_set1_epi8(-128);
  for (std::size_t i = 0; i < count; i += 64) {
    const __mmask64 lanes = count - i >= 64 ? ~__mmask64{0} : (__mmask64{1} << (count - i)) - 1;
    const __m512i positions = _mm512_xor_si512(_mm512_maskz_loadu_epi8(lanes, x + i), middle);
    const __m512i even = lookup.at(_mm512_and_si512(positions, low));
    const __m512i odd = lookup.at(_mm512_srli_epi16(positions, 8));
    _mm512_mask_storeu_epi8(y + i, lanes,
                            _mm512_or_si512(_mm512_and_si512(even, low), _mm512_slli_epi16(odd, 8)));
  }
}

constexpr Elementwise kAvx512{binary_loops, requantize_loops, lut8_avx512,
                              lut16_loops,  quantize_loops,   dequantize_loops};

}  // namespace

const Elementwise& elementwise_avx512() noexcept { return kAvx512; }
AffinePairs affine_pairs_avx512() noexcept { return affine_loops; }
AffineConversions affine_conversions_avx512() noexcept {
  return {quantize_loops, dequantize_loops, Isa::avx512};
}

}  // namespace runnel::kernels
