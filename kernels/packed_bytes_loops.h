// Products of packed bytes with a vector. Included once by each int8_rows_<level>.cpp, compiled for that
// level's instructions; everything is in an unnamed namespace: no copy reaches other files.
#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#else
#include <immintrin.h>
#endif

#include "kernels/packed_bytes.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_BYTES [[gnu::always_inline]] static inline

// Sums of one vector of rows, and four inputs in each lane.
#if defined(__aarch64__)
struct Bytes {
#if defined(__ARM_FEATURE_DOTPROD)
  using I = int32x4_t;
#else
  struct I {
    int32x4_t low, high;  // rows 0 and 1, rows 2 and 3, two parts each
  };
#endif
  static constexpr int kLanes = 4, kTogether = 4;
  struct Input {
    int8x16_t x;
    explicit Input(std::int32_t four) noexcept : x(vreinterpretq_s8_s32(vdupq_n_s32(four))) {}
  };
#if defined(__ARM_FEATURE_DOTPROD)
  RUNNEL_BYTES I start(const std::int32_t*) noexcept { return vdupq_n_s32(0); }
  RUNNEL_BYTES I add(I sum, const Input& in, const std::int8_t* w) noexcept {
    return vdotq_s32(sum, vld1q_s8(w), in.x);
  }
  RUNNEL_BYTES void put(std::int32_t* to, I v) noexcept { vst1q_s32(to, v); }
#else
  RUNNEL_BYTES I start(const std::int32_t*) noexcept { return {vdupq_n_s32(0), vdupq_n_s32(0)}; }
  RUNNEL_BYTES I add(I sum, const Input& in, const std::int8_t* w) noexcept {
    const int8x16_t weights = vld1q_s8(w);
    return {vpadalq_s16(sum.low, vmull_s8(vget_low_s8(weights), vget_low_s8(in.x))),
            vpadalq_s16(sum.high, vmull_high_s8(weights, in.x))};
  }
  RUNNEL_BYTES void put(std::int32_t* to, I v) noexcept { vst1q_s32(to, vpaddq_s32(v.low, v.high)); }
#endif
};
#elif defined(__wasm_simd128__)
struct Bytes {
  using I = v128_t;
  static constexpr int kLanes = 4, kTogether = 4;
  RUNNEL_BYTES I start(const std::int32_t*) noexcept { return wasm_i32x4_splat(0); }
  // Inputs 0 and 2, then 1 and 3, as int16.
  struct Input {
    I even, odd;
    explicit Input(std::int32_t four) noexcept
        : even(wasm_i16x8_shr(wasm_i16x8_shl(wasm_i32x4_splat(four), 8), 8)),
          odd(wasm_i16x8_shr(wasm_i32x4_splat(four), 8)) {}
  };
  RUNNEL_BYTES I add(I sum, const Input& in, const std::int8_t* w) noexcept {
    const I weights = wasm_v128_load(w), even = wasm_i16x8_shr(wasm_i16x8_shl(weights, 8), 8),
            odd = wasm_i16x8_shr(weights, 8);
    return wasm_i32x4_add(
        sum, wasm_i32x4_add(wasm_i32x4_dot_i16x8(in.even, even), wasm_i32x4_dot_i16x8(in.odd, odd)));
  }
  RUNNEL_BYTES void put(std::int32_t* to, I v) noexcept { wasm_v128_store(to, v); }
};
#elif defined(__AVX512VNNI__)
struct Bytes {
  using I = __m512i;
  static constexpr int kLanes = 16, kTogether = 8;
  RUNNEL_BYTES I start(const std::int32_t* offsets) noexcept { return _mm512_loadu_si512(offsets); }
  struct Input {
    I x;
    // Signed bytes plus 128: a flipped sign.
    explicit Input(std::int32_t four) noexcept
        : x(_mm512_set1_epi32(four ^ static_cast<std::int32_t>(0x80808080))) {}
  };
  RUNNEL_BYTES I add(I sum, const Input& in, const std::int8_t* w) noexcept {
    return _mm512_dpbusd_epi32(sum, in.x, _mm512_loadu_si512(w));
  }
  RUNNEL_BYTES void put(std::int32_t* to, I v) noexcept { _mm512_storeu_si512(to, v); }
};
#elif defined(__AVX512BW__)
struct Bytes {
  using I = __m512i;
  static constexpr int kLanes = 16, kTogether = 4;
  RUNNEL_BYTES I start(const std::int32_t*) noexcept { return _mm512_setzero_si512(); }
  // Inputs 0 and 2, then 1 and 3, as int16.
  struct Input {
    I even, odd;
    explicit Input(std::int32_t four) noexcept
        : even(_mm512_srai_epi16(_mm512_slli_epi16(_mm512_set1_epi32(four), 8), 8)),
          odd(_mm512_srai_epi16(_mm512_set1_epi32(four), 8)) {}
  };
  RUNNEL_BYTES I add(I sum, const Input& in, const std::int8_t* w) noexcept {
    const I weights = _mm512_loadu_si512(w), even = _mm512_srai_epi16(_mm512_slli_epi16(weights, 8), 8),
            odd = _mm512_srai_epi16(weights, 8);
    return _mm512_add_epi32(
        sum, _mm512_add_epi32(_mm512_madd_epi16(in.even, even), _mm512_madd_epi16(in.odd, odd)));
  }
  RUNNEL_BYTES void put(std::int32_t* to, I v) noexcept { _mm512_storeu_si512(to, v); }
};
#else
struct Bytes {
  using I = __m256i;
  static constexpr int kLanes = 8, kTogether = 4;
  RUNNEL_BYTES I start(const std::int32_t*) noexcept { return _mm256_setzero_si256(); }
  struct Input {
    I even, odd;
    explicit Input(std::int32_t four) noexcept
        : even(_mm256_srai_epi16(_mm256_slli_epi16(_mm256_set1_epi32(four), 8), 8)),
          odd(_mm256_srai_epi16(_mm256_set1_epi32(four), 8)) {}
  };
  RUNNEL_BYTES I add(I sum, const Input& in, const std::int8_t* w) noexcept {
    const I weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)),
            even = _mm256_srai_epi16(_mm256_slli_epi16(weights, 8), 8), odd = _mm256_srai_epi16(weights, 8);
    return _mm256_add_epi32(
        sum, _mm256_add_epi32(_mm256_madd_epi16(in.even, even), _mm256_madd_epi16(in.odd, odd)));
  }
  RUNNEL_BYTES void put(std::int32_t* to, I v) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
  }
};
#endif
#undef RUNNEL_BYTES

// Vectors of rows from `first` on; a group of rows is one vector or two.
template <int kVectors>
[[gnu::always_inline]] inline void multiply_vectors(const PackedBytes& rows, std::int64_t first,
                                                    const std::int8_t* x, std::int32_t* sums) noexcept {
  constexpr std::int64_t kFour = std::int64_t{4} * kPackedRowsTogether,
                         kParts = kPackedRowsTogether / Bytes::kLanes;
  const std::int64_t group_bytes = rows.fours * kFour;
  const std::int8_t* from[kVectors];
  Bytes::I sum[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t vector = first + v;
    from[v] = rows.weights + vector / kParts * group_bytes + vector % kParts * 4 * Bytes::kLanes;
    sum[v] = Bytes::start(rows.offsets + vector * Bytes::kLanes);
  }
  for (std::int64_t four = 0; four < rows.fours; ++four) {
    std::int32_t bytes;
    __builtin_memcpy(&bytes, x + four * 4, sizeof bytes);
    const Bytes::Input in(bytes);
    for (int v = 0; v < kVectors; ++v) sum[v] = Bytes::add(sum[v], in, from[v] + four * kFour);
  }
  for (int v = 0; v < kVectors; ++v) Bytes::put(sums + (first + v) * Bytes::kLanes, sum[v]);
}

void products(const PackedBytes& rows, const std::int8_t* x, std::int32_t* sums) noexcept {
  const std::int64_t vectors = rows.rows() / Bytes::kLanes;
  std::int64_t first = 0;
  for (; first + Bytes::kTogether <= vectors; first += Bytes::kTogether)
    multiply_vectors<Bytes::kTogether>(rows, first, x, sums);
  if constexpr (Bytes::kTogether > 4) {
    for (; first + 4 <= vectors; first += 4) multiply_vectors<4>(rows, first, x, sums);
  }
  for (; first < vectors; ++first) multiply_vectors<1>(rows, first, x, sums);
}

}  // namespace
}  // namespace runnel::kernels
