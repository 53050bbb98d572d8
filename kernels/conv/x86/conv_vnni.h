// Multiply-adds of AVX512_VNNI for conv_vector.h. Included only by files compiled for it.
#pragma once

#include "kernels/conv/x86/conv_avx512.h"

namespace runnel::kernels {
namespace {

// vpdpbusd adds four products u8 * s8 to each int32 lane without saturation: exact for every unsigned x. Its
// latency is five cycles at two per cycle, so at least ten sums are kept in flight.
struct Unsigned {
  using Weights = __m512i;
  static constexpr int kVectorBytes = 64;
  template <int kSums>
  static constexpr int chains() noexcept {
    return kSums >= 10 ? 1 : kSums >= 5 ? 2 : 4;
  }
  RUNNEL_VECTOR Weights weights(const std::int8_t* from) noexcept { return _mm512_loadu_si512(from); }
  RUNNEL_VECTOR __m512i input(__m512i x) noexcept { return x; }
  RUNNEL_VECTOR __m512i spread(__m512i x) noexcept { return x; }
  RUNNEL_VECTOR __m512i row(const std::int8_t* from) noexcept { return _mm512_loadu_si512(from); }
  RUNNEL_VECTOR __m512i add(__m512i sum, __m512i x, Weights w) noexcept {
    return _mm512_dpbusd_epi32(sum, x, w);
  }
};

// Signed x becomes x + 128 by flipping its sign bit; the bias holds -128 * sum(w).
struct Signed : Unsigned {
  RUNNEL_VECTOR __m512i flip(__m512i x) noexcept { return _mm512_xor_si512(x, _mm512_set1_epi8(-128)); }
  RUNNEL_VECTOR __m512i input(__m512i x) noexcept { return flip(x); }
  RUNNEL_VECTOR __m512i row(const std::int8_t* from) noexcept { return flip(_mm512_loadu_si512(from)); }
};

}  // namespace
}  // namespace runnel::kernels
