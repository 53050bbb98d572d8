#include <immintrin.h>

#include "kernels/recurrent/recurrent_loops.h"
#include "kernels/recurrent/sequence_lstm_loops.h"
#include "kernels/recurrent/x86/recurrent_lanes.h"

namespace runnel::kernels {
namespace {

struct V : Lanes<64> {
  RUNNEL_VECTOR I add_products(I sum, I x, I w) noexcept {
    return sum +
           reinterpret_cast<I>(_mm512_madd_epi16(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(w)));
  }
  // ((v * m) * 2 + 2^31) >> 32 of every lane.
  RUNNEL_VECTOR I doubled_high_product(I v, std::int32_t m) noexcept {
    return doubled_high_product(v, splat(m));
  }
  RUNNEL_VECTOR I doubled_high_product(I v, I m) noexcept {
    const __m512i x = reinterpret_cast<__m512i>(v), by = reinterpret_cast<__m512i>(m),
                  half = _mm512_set1_epi64(std::int64_t{1} << 30);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(x, by), half),
                  odd = _mm512_add_epi64(
                      _mm512_mul_epi32(_mm512_srli_epi64(x, 32), _mm512_srli_epi64(by, 32)), half);
    return reinterpret_cast<I>(
        _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1)));
  }
  // Of a table of 256 entries, 0 <= at < 256: permutations of registers, which take less time than loading
  // lane by lane.
  RUNNEL_VECTOR I look_up(const std::int32_t* table, I at) noexcept {
    const auto index = reinterpret_cast<__m512i>(at);
    const auto part = [&](int i) __attribute__((always_inline)) {
      return _mm512_permutex2var_epi32(_mm512_loadu_si512(table + 32 * i), index,
                                       _mm512_loadu_si512(table + 32 * i + 16));
    };
    const auto either = [&](int bit, __m512i a, __m512i b) __attribute__((always_inline)) {
      return _mm512_mask_blend_epi32(_mm512_test_epi32_mask(index, _mm512_set1_epi32(bit)), a, b);
    };
    const __m512i a = either(64, either(32, part(0), part(1)), either(32, part(2), part(3))),
                  b = either(64, either(32, part(4), part(5)), either(32, part(6), part(7)));
    return reinterpret_cast<I>(either(128, a, b));
  }
  RUNNEL_VECTOR F gather(const float* from, I at) noexcept {
    return reinterpret_cast<F>(_mm512_i32gather_ps(reinterpret_cast<__m512i>(at), from, 4));
  }
};

constexpr RecurrentLevel kLevel{
    V::kLanes,
    {{vector_step<V, std::int8_t, false>, vector_step<V, std::int8_t, true>},
     {vector_step<V, std::int16_t, false>, vector_step<V, std::int16_t, true>}},
    {lstm_vector_steps<V, Rounding::half_up>, lstm_vector_steps<V, Rounding::half_even>,
     lstm_vector_steps<V, Rounding::tflite_double>}};

}  // namespace

const RecurrentLevel& recurrent_avx512() noexcept { return kLevel; }

}  // namespace runnel::kernels
