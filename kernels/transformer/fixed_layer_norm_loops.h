// Layer normalization of integers in vectors, after the specification in fixed_layer_norm.cpp. Included once
// by each fixed_layer_norm_<level>.cpp, compiled for that level's instructions; everything is in an unnamed
// namespace: no copy reaches other files.
#pragma once

#include <limits>

#include "kernels/elementwise/multiplier_lanes.h"
#include "kernels/transformer/fixed_layer_norm_levels.h"

#if defined(RUNNEL_MULTIPLIER_LANES)
namespace runnel::kernels {
namespace {

using I = IntLanes;
using Register = MultiplierLanes::Register;

// (a * b + half) >> shift of every lane, where the result fits into 32 bits: of the product the low half of
// the shifted 64 bits is used, for which a logical shift does. 1 <= shift <= 32.
[[gnu::always_inline]] inline I scaled(I a, I b, std::int64_t half, int shift) noexcept {
#if defined(__riscv_vector)
  return scaled_product(a, b, half, shift);
#else
  const auto x = reinterpret_cast<Register>(a), y = reinterpret_cast<Register>(b);
#if defined(__aarch64__)
  const int64x2_t by = vdupq_n_s64(-shift), nudge = vdupq_n_s64(half);
  const int64x2_t low = vshlq_s64(vmlal_s32(nudge, vget_low_s32(x), vget_low_s32(y)), by),
                  high = vshlq_s64(vmlal_high_s32(nudge, x, y), by);
  return reinterpret_cast<I>(vuzp1q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high)));
#elif defined(__AVX512F__)
  const __m128i by = _mm_cvtsi32_si128(shift);
  const Register nudge = _mm512_set1_epi64(half);
  const Register even = _mm512_srl_epi64(_mm512_add_epi64(_mm512_mul_epi32(x, y), nudge), by),
                 odd = _mm512_srl_epi64(
                     _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(x, 32), _mm512_srli_epi64(y, 32)),
                                      nudge),
                     by);
  return reinterpret_cast<I>(_mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32)));
#else
  const __m128i by = _mm_cvtsi32_si128(shift);
  const Register nudge = _mm256_set1_epi64x(half);
  const Register even = _mm256_srl_epi64(_mm256_add_epi64(_mm256_mul_epi32(x, y), nudge), by),
                 odd = _mm256_srl_epi64(
                     _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(y, 32)),
                                      nudge),
                     by);
  return reinterpret_cast<I>(_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa));
#endif
#endif
}

[[gnu::always_inline]] inline I loaded(const std::int32_t* from) noexcept {
  I value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

// Of what whole vectors do not cover.
template <class T>
void add_rest(std::int32_t from, std::int32_t count, const T* x, std::int64_t& sum,
              std::int64_t& squares) noexcept {
  for (std::int32_t i = from; i < count; ++i) {
    sum += x[i];
    squares += std::int32_t{x[i]} * std::int32_t{x[i]};
  }
}

// Lanes of int32 hold the sums of this many vectors: of bytes all that there may be, of int16 the values but
// not their squares.
void sums_of(std::int32_t count, const std::int8_t* x, std::int64_t& sum, std::int64_t& squares) noexcept {
  I sums{}, products{};
  std::int32_t i = 0;
  for (; i + kIntLanes <= count; i += kIntLanes) {
    const I value = widened(x + i);
    sums += value;
    products += value * value;
  }
  for (int lane = 0; lane < kIntLanes; ++lane) {
    sum += sums[lane];
    squares += products[lane];
  }
  add_rest(i, count, x, sum, squares);
}
void sums_of(std::int32_t count, const std::int16_t* x, std::int64_t& sum, std::int64_t& squares) noexcept {
  I sums{}, high{}, low{};
  std::int32_t i = 0;
  for (; i + kIntLanes <= count; i += kIntLanes) {
    const I value = widened(x + i), square = value * value;  // at most 2^30
    sums += value;
    high += square >> 16;
    low += square & 0xffff;
  }
  std::int64_t upper = 0;
  for (int lane = 0; lane < kIntLanes; ++lane) {
    sum += sums[lane];
    upper += high[lane];
    squares += low[lane];
  }
  squares += upper << 16;
  add_rest(i, count, x, sum, squares);
}

template <class T, class U>
void normalize(const FixedLayerNormSpec& spec, const T* x, U* y) noexcept {
  const std::int32_t count = spec.count;
  const MultiplierLanes result(spec.result);
  const Multiplier32<true> one_result(spec.result);
  const I lowest = std::numeric_limits<U>::min() - I{}, highest = std::numeric_limits<U>::max() - I{};
  for (std::size_t row = 0; row < spec.rows; ++row, x += count, y += count) {
    std::int64_t sum = 0, squares = 0;
    sums_of(count, x, sum, squares);
    const InverseRoot root = inverse_root(count, sum, squares, spec.epsilon);
    const std::int64_t half = std::int64_t{1} << (root.shift - 1);
    const auto whole = static_cast<std::int32_t>(sum);
    std::int32_t i = 0;
    for (; i + kIntLanes <= count; i += kIntLanes) {
      const I d = widened(x + i) * count - whole;
      I value = scaled(scaled(d, root.factor - I{}, half, root.shift), widened(spec.gain + i), 1 << 14, 15);
      if (spec.offset != nullptr) value += loaded(spec.offset + i);
      value = result(value) + spec.y_zero;
      value = value < lowest ? lowest : value;
      narrow(value > highest ? highest : value, y + i);
    }
    for (; i < count; ++i) {
      const std::int64_t d = std::int64_t{count} * x[i] - sum;
      const std::int64_t z = (d * root.factor + half) >> root.shift;
      const auto value = static_cast<std::int32_t>((z * spec.gain[i] + (1 << 14)) >> 15);
      y[i] = saturate<U>(one_result(value + (spec.offset == nullptr ? 0 : spec.offset[i])) + spec.y_zero);
    }
  }
}

void layer_norm_loops(const FixedLayerNormSpec& spec, const void* x, void* y) noexcept {
  const auto from = [&]<class T>(const T* values) {
    if (spec.to == DType::int16)
      normalize(spec, values, static_cast<std::int16_t*>(y));
    else
      normalize(spec, values, static_cast<std::int8_t*>(y));
  };
  if (spec.from == DType::int16)
    from(static_cast<const std::int16_t*>(x));
  else
    from(static_cast<const std::int8_t*>(x));
}

}  // namespace
}  // namespace runnel::kernels
#endif
