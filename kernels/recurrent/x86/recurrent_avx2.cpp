#include <immintrin.h>

#include "kernels/recurrent/recurrent_loops.h"
#include "kernels/recurrent/sequence_lstm_loops.h"
#include "kernels/recurrent/x86/recurrent_lanes.h"

namespace runnel::kernels {
namespace {

struct V : Lanes<32> {
  RUNNEL_VECTOR I add_products(I sum, I x, I w) noexcept {
    return sum +
           reinterpret_cast<I>(_mm256_madd_epi16(reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(w)));
  }
  // ((v * m) * 2 + 2^31) >> 32 of every lane.
  RUNNEL_VECTOR I doubled_high_product(I v, std::int32_t m) noexcept {
    return doubled_high_product(v, splat(m));
  }
  RUNNEL_VECTOR I doubled_high_product(I v, I m) noexcept {
    const __m256i x = reinterpret_cast<__m256i>(v), by = reinterpret_cast<__m256i>(m),
                  half = _mm256_set1_epi64x(std::int64_t{1} << 30);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(x, by), half),
                  odd = _mm256_add_epi64(
                      _mm256_mul_epi32(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(by, 32)), half);
    return reinterpret_cast<I>(
        _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xaa));
  }
  // Of a table of 256 entries, 0 <= at < 256.
  RUNNEL_VECTOR I look_up(const std::int32_t* table, I at) noexcept {
    return reinterpret_cast<I>(_mm256_i32gather_epi32(table, reinterpret_cast<__m256i>(at), 4));
  }
  RUNNEL_VECTOR F gather(const float* from, I at) noexcept {
    return reinterpret_cast<F>(_mm256_i32gather_ps(from, reinterpret_cast<__m256i>(at), 4));
  }
};

constexpr RecurrentLevel kLevel{
    V::kLanes,
    {{vector_step<V, std::int8_t, false>, vector_step<V, std::int8_t, true>},
     {vector_step<V, std::int16_t, false>, vector_step<V, std::int16_t, true>}},
    {lstm_vector_steps<V, Rounding::half_up>, lstm_vector_steps<V, Rounding::half_even>,
     lstm_vector_steps<V, Rounding::tflite_double>}};

}  // namespace

const RecurrentLevel& recurrent_avx2() noexcept { return kLevel; }

}  // namespace runnel::kernels
