// Sums of attention in pairs of 16-bit products. Wider vectors would not help: heads have few channels.
#include <immintrin.h>

#include "kernels/transformer/fixed_attention_levels.h"

namespace runnel::kernels {
namespace {

__m256i sixteen(const std::int16_t* from) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
__m256i sixteen(const std::int8_t* from) noexcept {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
__m128i eight(const std::int16_t* from) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
__m128i eight(const std::int8_t* from) noexcept {
  return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}

std::int32_t sum_of(__m128i lanes) noexcept {
  lanes = _mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0x4e));
  lanes = _mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0xb1));
  return _mm_cvtsi128_si32(lanes);
}

// |q| <= 255: a lane of 65536 channels stays within int32, as does the whole sum.
void products8(std::int32_t size, const std::int16_t* q, const std::int8_t* rows, std::int64_t stride,
               std::int64_t count, std::int64_t* sums) noexcept {
  for (std::int64_t i = 0; i < count; ++i, rows += stride) {
    __m256i wide = _mm256_setzero_si256();
    std::int32_t c = 0;
    for (; c + 16 <= size; c += 16)
      wide = _mm256_add_epi32(wide, _mm256_madd_epi16(sixteen(q + c), sixteen(rows + c)));
    __m128i lanes = _mm_add_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    for (; c + 8 <= size; c += 8) lanes = _mm_add_epi32(lanes, _mm_madd_epi16(eight(q + c), eight(rows + c)));
    std::int32_t sum = sum_of(lanes);
    for (; c < size; ++c) sum += std::int32_t{q[c]} * rows[c];
    sums[i] = sum;
  }
}

// The two halves of `lanes`, as int64, added.
__m256i widened_sum(__m256i sum, __m256i lanes) noexcept {
  return _mm256_add_epi64(_mm256_add_epi64(sum, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(lanes))),
                          _mm256_cvtepi32_epi64(_mm256_extracti128_si256(lanes, 1)));
}

void products16(std::int32_t size, const std::int16_t* q, const std::int16_t* rows, std::int64_t stride,
                std::int64_t count, std::int64_t* sums) noexcept {
  // Of all pairs of products only those of four times -32768 do not fit into int32.
  std::int32_t vectors = size / 16 * 16;
  for (std::int32_t c = 0; c < size; ++c) vectors = q[c] == -32768 ? 0 : vectors;
  for (std::int64_t i = 0; i < count; ++i, rows += stride) {
    __m256i wide = _mm256_setzero_si256();
    std::int32_t c = 0;
    for (; c < vectors; c += 16)
      wide = widened_sum(wide, _mm256_madd_epi16(sixteen(q + c), sixteen(rows + c)));
    alignas(32) std::int64_t lanes[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), wide);
    std::int64_t sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    for (; c < size; ++c) sum += std::int32_t{q[c]} * std::int32_t{rows[c]};
    sums[i] = sum;
  }
}

// Two weights side by side, for pairs of rows.
std::int32_t pair_of(const std::int16_t* weights, bool both) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint16_t>(weights[0]) |
                                   static_cast<std::uint32_t>(both ? weights[1] : 0) << 16);
}

// Eight channels of rows `first` to `last`, added to sums.
template <class T>
void mix_eight(std::int64_t first, std::int64_t last, const std::int16_t* weights, const T* rows,
               std::int64_t stride, std::int64_t* sums) noexcept {
  // Products of bytes: 128 rows stay within int32. Of int16: a pair does.
  constexpr bool kBytes = sizeof(T) == 1;
  __m256i low = _mm256_setzero_si256(), high = low, lanes = low;
  const auto widen = [&] {
    low = _mm256_add_epi64(low, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(lanes)));
    high = _mm256_add_epi64(high, _mm256_cvtepi32_epi64(_mm256_extracti128_si256(lanes, 1)));
  };
  for (std::int64_t i = first; i < last; i += 2) {
    const bool both = i + 1 < last;
    const __m128i a = eight(rows + i * stride),
                  b = both ? eight(rows + (i + 1) * stride) : _mm_setzero_si128();
    const __m256i rows_of_two = _mm256_set_m128i(_mm_unpackhi_epi16(a, b), _mm_unpacklo_epi16(a, b));
    const __m256i products = _mm256_madd_epi16(rows_of_two, _mm256_set1_epi32(pair_of(weights + i, both)));
    if constexpr (kBytes) {
      lanes = _mm256_add_epi32(lanes, products);
    } else {
      lanes = products;
      widen();
    }
  }
  if constexpr (kBytes) widen();
  auto* const to = reinterpret_cast<__m256i*>(sums);
  _mm256_storeu_si256(to, _mm256_add_epi64(_mm256_loadu_si256(to), low));
  _mm256_storeu_si256(to + 1, _mm256_add_epi64(_mm256_loadu_si256(to + 1), high));
}

template <class T>
void mix(std::int64_t count, const std::int16_t* weights, const T* rows, std::int64_t stride,
         std::int32_t size, std::int64_t* sums) noexcept {
  for (std::int32_t i = 0; i < size; ++i) sums[i] = 0;
  constexpr std::int64_t kRows = 128;
  std::int32_t c = 0;
  for (; c + 8 <= size; c += 8) {
    for (std::int64_t first = 0; first < count; first += kRows)
      mix_eight(first, first + kRows < count ? first + kRows : count, weights, rows + c, stride, sums + c);
  }
  for (; c < size; ++c) {
    for (std::int64_t i = 0; i < count; ++i)
      sums[c] += std::int32_t{weights[i]} * std::int32_t{rows[i * stride + c]};
  }
}

constexpr FixedAttentionSums kSums{products8, products16, mix<std::int8_t>, mix<std::int16_t>};

}  // namespace

const FixedAttentionSums& fixed_attention_sums_avx2() noexcept { return kSums; }

}  // namespace runnel::kernels
