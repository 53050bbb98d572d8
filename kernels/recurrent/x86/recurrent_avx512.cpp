#include <immintrin.h>

#include "kernels/recurrent/recurrent_loops.h"
#include "kernels/recurrent/sequence_lstm_loops.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_VECTOR [[gnu::always_inline]] static inline

struct V {
  using Int = __m512i;
  typedef std::int32_t I __attribute__((vector_size(64)));
  typedef float F __attribute__((vector_size(64)));
  static constexpr int kLanes = 16;

  RUNNEL_VECTOR Int zero() noexcept { return _mm512_setzero_si512(); }
  RUNNEL_VECTOR Int load(const void* from) noexcept {
    return _mm512_loadu_si512(static_cast<const Int*>(from));
  }
  RUNNEL_VECTOR void store(void* to, Int v) noexcept { _mm512_storeu_si512(static_cast<Int*>(to), v); }
  RUNNEL_VECTOR Int repeat2(const std::int16_t* from) noexcept {
    std::int32_t two;
    __builtin_memcpy(&two, from, 4);
    return _mm512_set1_epi32(two);
  }
  RUNNEL_VECTOR Int add_products(Int sum, Int x, Int w) noexcept {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(x, w));
  }
  RUNNEL_VECTOR Int add_low_half(Int sum, Int v) noexcept {
    return _mm512_add_epi32(sum, _mm512_and_si512(v, _mm512_set1_epi32(0xffff)));
  }
  RUNNEL_VECTOR Int add_high_half(Int sum, Int v) noexcept {
    return _mm512_add_epi32(sum, _mm512_srai_epi32(v, 16));
  }
  RUNNEL_VECTOR I splat(std::int32_t v) noexcept { return v - I{}; }
  RUNNEL_VECTOR F splat(float v) noexcept { return v - F{}; }
  template <class T>
  [[gnu::always_inline]] static inline T at(const void* from) noexcept {
    T v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
  }
  RUNNEL_VECTOR void put(void* to, I v) noexcept { __builtin_memcpy(to, &v, sizeof v); }
  // ((v * m) * 2 + 2^31) >> 32 of every lane.
  RUNNEL_VECTOR I doubled_high_product(I v, std::int32_t m) noexcept {
    const __m512i x = reinterpret_cast<__m512i>(v), by = _mm512_set1_epi32(m),
                  half = _mm512_set1_epi64(std::int64_t{1} << 30);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(x, by), half),
                  odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(x, 32), by), half);
    return reinterpret_cast<I>(
        _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1)));
  }
  RUNNEL_VECTOR I gather(const std::int32_t* from, I at) noexcept {
    return reinterpret_cast<I>(_mm512_i32gather_epi32(reinterpret_cast<__m512i>(at), from, 4));
  }
  RUNNEL_VECTOR F gather(const float* from, I at) noexcept {
    return reinterpret_cast<F>(_mm512_i32gather_ps(reinterpret_cast<__m512i>(at), from, 4));
  }
};

constexpr RecurrentLevel kLevel{
    V::kLanes,
    {{vector_step<V, std::int8_t, false>, vector_step<V, std::int8_t, true>},
     {vector_step<V, std::int16_t, false>, vector_step<V, std::int16_t, true>}},
    {lstm_vector_step<V, Rounding::half_up>, lstm_vector_step<V, Rounding::half_even>,
     lstm_vector_step<V, Rounding::tflite_double>}};

}  // namespace

const RecurrentLevel& recurrent_avx512() noexcept { return kLevel; }

}  // namespace runnel::kernels
