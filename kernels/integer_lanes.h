// Vectors of int32 from and to smaller integers in memory, as wide as a level has them: compilers convert
// vectors lane by lane. Included only by files compiled for one instruction set each; everything is in an
// unnamed namespace: no copy reaches other files.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace runnel::kernels {
namespace {

#if defined(__AVX512BW__) || \
    defined(__riscv_vector)  // RISC-V: four registers of 128 bits, or fewer longer ones
constexpr int kIntLanes = 16;
#elif defined(__AVX2__)
constexpr int kIntLanes = 8;
#else
constexpr int kIntLanes = 4;
#endif
typedef std::int32_t IntLanes __attribute__((vector_size(kIntLanes * 4)));

#if defined(__riscv_vector)
typedef std::int16_t WordLanes __attribute__((vector_size(kIntLanes * 2)));
typedef std::int8_t ByteLanes __attribute__((vector_size(kIntLanes)));
#endif

// kIntLanes numbers from `from` on: int8 or int16.
[[gnu::always_inline]] inline IntLanes widened(const std::int8_t* from) noexcept {
#if defined(__AVX512BW__)
  return reinterpret_cast<IntLanes>(
      _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#elif defined(__AVX2__)
  return reinterpret_cast<IntLanes>(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#elif defined(__aarch64__)
  std::int32_t four;
  __builtin_memcpy(&four, from, sizeof four);
  return reinterpret_cast<IntLanes>(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four))))));
#elif defined(__riscv_vector)
  ByteLanes bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, IntLanes);
#else
  return IntLanes{from[0], from[1], from[2], from[3]};
#endif
}
[[gnu::always_inline]] inline IntLanes widened(const std::int16_t* from) noexcept {
#if defined(__AVX512BW__)
  return reinterpret_cast<IntLanes>(
      _mm512_cvtepi16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
#elif defined(__AVX2__)
  return reinterpret_cast<IntLanes>(
      _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#elif defined(__aarch64__)
  return reinterpret_cast<IntLanes>(vmovl_s16(vld1_s16(from)));
#elif defined(__riscv_vector)
  WordLanes words;
  __builtin_memcpy(&words, from, sizeof words);
  return __builtin_convertvector(words, IntLanes);
#else
  return IntLanes{from[0], from[1], from[2], from[3]};
#endif
}

// Writes numbers that fit into the type.
[[gnu::always_inline]] inline void narrow(IntLanes v, std::int8_t* to) noexcept {
#if defined(__AVX512BW__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(v)));
#elif defined(__AVX2__)
  const auto all = reinterpret_cast<__m256i>(v);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(words, words));
#elif defined(__aarch64__)
  const int16x4_t words = vmovn_s32(reinterpret_cast<int32x4_t>(v));
  const std::int32_t four = vget_lane_s32(vreinterpret_s32_s8(vmovn_s16(vcombine_s16(words, words))), 0);
  __builtin_memcpy(to, &four, sizeof four);
#elif defined(__riscv_vector)
  const ByteLanes bytes = __builtin_convertvector(v, ByteLanes);
  __builtin_memcpy(to, &bytes, sizeof bytes);
#else
  for (int i = 0; i < kIntLanes; ++i) to[i] = static_cast<std::int8_t>(v[i]);
#endif
}
[[gnu::always_inline]] inline void narrow(IntLanes v, std::int16_t* to) noexcept {
#if defined(__AVX512BW__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(v)));
#elif defined(__AVX2__)
  const auto all = reinterpret_cast<__m256i>(v);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
#elif defined(__aarch64__)
  vst1_s16(to, vmovn_s32(reinterpret_cast<int32x4_t>(v)));
#elif defined(__riscv_vector)
  const WordLanes words = __builtin_convertvector(v, WordLanes);
  __builtin_memcpy(to, &words, sizeof words);
#else
  for (int i = 0; i < kIntLanes; ++i) to[i] = static_cast<std::int16_t>(v[i]);
#endif
}

}  // namespace
}  // namespace runnel::kernels
