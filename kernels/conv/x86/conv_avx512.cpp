#include "kernels/conv/x86/conv_avx512.h"

#include "kernels/conv/conv_vector.h"

namespace runnel::kernels {
namespace {

// x in 0..127: vpmaddubsw adds two products in int16, at most 2 * 127 * 128 = 32512: it never saturates.
struct Unsigned {
  using Weights = __m512i;
  static constexpr int kVectorBytes = 64;
  template <int kSums>
  static constexpr int chains() noexcept {
    return 1;
  }
  RUNNEL_VECTOR Weights weights(const std::int8_t* from) noexcept { return _mm512_loadu_si512(from); }
  RUNNEL_VECTOR __m512i input(__m512i x) noexcept { return x; }
  RUNNEL_VECTOR __m512i spread(__m512i x) noexcept { return x; }
  RUNNEL_VECTOR __m512i row(const std::int8_t* from) noexcept { return _mm512_loadu_si512(from); }
  RUNNEL_VECTOR __m512i add(__m512i sum, __m512i x, Weights w) noexcept {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(x, w), _mm512_set1_epi16(1)));
  }
};

// Any x: int16 products with vpmaddwd, inputs 0 and 2, then 1 and 3 of each lane.
struct Signed {
  struct Pair {
    __m512i even, odd;
  };
  using Weights = Pair;
  static constexpr int kVectorBytes = 128;
  template <int kSums>
  static constexpr int chains() noexcept {
    return 1;
  }
  RUNNEL_VECTOR Weights weights(const std::int8_t* from) noexcept {
    return {_mm512_loadu_si512(from), _mm512_loadu_si512(from + 64)};
  }
  RUNNEL_VECTOR Pair input(__m512i x) noexcept {
    return {_mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8), _mm512_srai_epi16(x, 8)};
  }
  RUNNEL_VECTOR Pair spread(__m512i x) noexcept { return input(x); }
  RUNNEL_VECTOR __m512i row(const std::int8_t* from) noexcept { return _mm512_loadu_si512(from); }
  RUNNEL_VECTOR __m512i add(__m512i sum, Pair x, Weights w) noexcept {
    return _mm512_add_epi32(
        sum, _mm512_add_epi32(_mm512_madd_epi16(x.even, w.even), _mm512_madd_epi16(x.odd, w.odd)));
  }
};

constexpr VectorConv kConv = vector_conv<Avx512, Unsigned, Signed>();

}  // namespace

const VectorConv& vector_conv_avx512() noexcept { return kConv; }

}  // namespace runnel::kernels
