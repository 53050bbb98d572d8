// Affine integers as loops that compilers vectorise; after elementwise_loops.h in the files of the
// instruction levels. Pairs are exact where affine_pairs_for() chooses them: everything stays within int32.
#pragma once

#include <limits>

#include "kernels/elementwise/affine.h"
#include "kernels/elementwise/elementwise_loops.h"
#include "kernels/elementwise/multiplier_lanes.h"
#include "kernels/integer_lanes.h"

namespace runnel::kernels {
namespace {

#if defined(RUNNEL_MULTIPLIER_LANES)
// Room for precision in sums of bytes (set_scales()).
constexpr int kByteRoom = 20;

// MultiplierLanes of d << kByteRoom in 32 bits. With the multiplier m = coarse * 2^11 + fine,
//   (d * 2^20 * m + 2^30) >> 31 = (d * m + 2^10) >> 11 = d * coarse + ((d * fine + 2^10) >> 11)
// exactly; d << 20 is an int32, so that |d| < 2^11 and neither product overflows. For shifts to the right.
struct RoomyLanes {
  using I = IntLanes;
  static constexpr int kFine = 31 - kByteRoom;
  std::int32_t coarse, fine, half, shift;
  explicit RoomyLanes(const Multiplier& of) noexcept
      : coarse(of.value >> kFine),
        fine(of.value & ((1 << kFine) - 1)),
        half(Multiplier32<true>(of).half),
        shift(of.shift) {}
  [[gnu::always_inline]] I operator()(I d) const noexcept {
    const I high = d * coarse + ((d * fine + (1 << (kFine - 1))) >> kFine);
    return (high + half + (high >> 31)) >> shift;
  }
  static bool serves(const Multiplier& of) noexcept { return of.shift > 0; }
};
// The operand of the larger scale: its multiplier is one half.
struct HalvedLanes {
  explicit HalvedLanes(const Multiplier& /*of*/) noexcept {}
  [[gnu::always_inline]] IntLanes operator()(IntLanes d) const noexcept { return d * (1 << (kByteRoom - 1)); }
  static bool serves(const Multiplier& of) noexcept { return of.value == 1 << 30 && of.shift == 0; }
};
// Any operand.
struct ShiftedLanes {
  MultiplierLanes scale;
  int up;
  ShiftedLanes(const Multiplier& of, int left_shift) noexcept : scale(of), up(left_shift) {}
  [[gnu::always_inline]] IntLanes operator()(IntLanes d) const noexcept { return scale(d << up); }
};

// Whole vectors of results, each `value_at` of its place plus the zero point; returns their number.
template <class ValueAt>
[[gnu::always_inline]] inline std::size_t store_lanes(const AffinePairSpec& spec, std::int8_t* y,
                                                      const ValueAt& value_at) noexcept {
  using I = IntLanes;
  const std::int32_t lowest = spec.low < -128 ? -128 : spec.low, highest = spec.high > 127 ? 127 : spec.high;
  std::size_t i = 0;
#if defined(__AVX512BW__)
  // Packing saturates to 16 bits before the zero point is added: beyond every byte it stays beyond.
  if (spec.y_zero >= -128 && spec.y_zero <= 127) {
    const __m512i zero = _mm512_set1_epi16(static_cast<std::int16_t>(spec.y_zero)),
                  low = _mm512_set1_epi8(static_cast<std::int8_t>(lowest)),
                  high = _mm512_set1_epi8(static_cast<std::int8_t>(highest)),
                  order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const auto words_at = [&](std::size_t at) __attribute__((always_inline)) {
      return _mm512_adds_epi16(_mm512_packs_epi32(reinterpret_cast<__m512i>(value_at(at)),
                                                  reinterpret_cast<__m512i>(value_at(at + kIntLanes))),
                               zero);
    };
    for (; i + 4 * kIntLanes <= spec.count; i += 4 * kIntLanes) {
      const __m512i bytes = _mm512_packs_epi16(words_at(i), words_at(i + 2 * kIntLanes));
      _mm512_storeu_si512(
          y + i, _mm512_permutexvar_epi32(order, _mm512_min_epi8(_mm512_max_epi8(bytes, low), high)));
    }
  }
#elif defined(__AVX2__)
  if (spec.y_zero >= -128 && spec.y_zero <= 127) {
    const __m256i zero = _mm256_set1_epi16(static_cast<std::int16_t>(spec.y_zero)),
                  low = _mm256_set1_epi8(static_cast<std::int8_t>(lowest)),
                  high = _mm256_set1_epi8(static_cast<std::int8_t>(highest)),
                  order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const auto words_at = [&](std::size_t at) __attribute__((always_inline)) {
      return _mm256_adds_epi16(_mm256_packs_epi32(reinterpret_cast<__m256i>(value_at(at)),
                                                  reinterpret_cast<__m256i>(value_at(at + kIntLanes))),
                               zero);
    };
    for (; i + 4 * kIntLanes <= spec.count; i += 4 * kIntLanes) {
      const __m256i bytes = _mm256_packs_epi16(words_at(i), words_at(i + 2 * kIntLanes)),
                    held = _mm256_min_epi8(_mm256_max_epi8(bytes, low), high);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), _mm256_permutevar8x32_epi32(held, order));
    }
  }
#endif
  const I low = lowest - I{}, high = highest - I{};
  for (; i + kIntLanes <= spec.count; i += kIntLanes) {
    I sum = value_at(i) + spec.y_zero;
    sum = sum < low ? low : sum;
    narrow(sum > high ? high : sum, y + i);
  }
  return i;
}

// Whole vectors of affine_sums() of bytes, operands of full length; returns the number of results. left,
// right: the operands' parts of the sum.
template <AffinePair kOp, class Left, class Right>
std::size_t affine_sum_lanes(const AffinePairSpec& spec, const Left& left, const Right& right,
                             const std::int8_t* a, const std::int8_t* b, std::int8_t* y) noexcept {
  using I = IntLanes;
  const MultiplierLanes out(spec.y);
  return store_lanes(
      spec, y, [&](std::size_t i) __attribute__((always_inline)) {
        const I l = left(widened(a + i) - spec.a_zero), r = right(widened(b + i) - spec.b_zero);
        return out(kOp == AffinePair::add ? l + r : l - r);
      });
}
// The same of products.
inline std::size_t affine_product_lanes(const AffinePairSpec& spec, const std::int8_t* a,
                                        const std::int8_t* b, std::int8_t* y) noexcept {
  const MultiplierLanes out(spec.y);
  return store_lanes(
      spec, y, [&](std::size_t i) __attribute__((always_inline)) {
        return out((widened(a + i) - spec.a_zero) * (widened(b + i) - spec.b_zero));
      });
}
template <AffinePair kOp>
std::size_t affine_sum_vectors(const AffinePairSpec& spec, const std::int8_t* a, const std::int8_t* b,
                               std::int8_t* y) noexcept {
  if (spec.left_shift == kByteRoom) {
    if (HalvedLanes::serves(spec.a) && RoomyLanes::serves(spec.b))
      return affine_sum_lanes<kOp>(spec, HalvedLanes(spec.a), RoomyLanes(spec.b), a, b, y);
    if (RoomyLanes::serves(spec.a) && HalvedLanes::serves(spec.b))
      return affine_sum_lanes<kOp>(spec, RoomyLanes(spec.a), HalvedLanes(spec.b), a, b, y);
    if (HalvedLanes::serves(spec.a) && HalvedLanes::serves(spec.b))
      return affine_sum_lanes<kOp>(spec, HalvedLanes(spec.a), HalvedLanes(spec.b), a, b, y);
  }
  return affine_sum_lanes<kOp>(spec, ShiftedLanes(spec.a, spec.left_shift),
                               ShiftedLanes(spec.b, spec.left_shift), a, b, y);
}
#endif

template <AffinePair kOp, class T>
void affine_sums(const AffinePairSpec& spec, const T* a, const T* b, T* y) noexcept {
  using Scale = Multiplier32<sizeof(T) == 1>;
  const Scale left(spec.a), right(spec.b), out(spec.y);
  const std::int32_t a_zero = spec.a_zero, b_zero = spec.b_zero, y_zero = spec.y_zero,
                     scale = 1 << spec.left_shift;
#if defined(RUNNEL_MULTIPLIER_LANES)
  if constexpr (sizeof(T) == 1) {
    if (spec.a_count == spec.count && spec.b_count == spec.count) {
      const std::size_t done = affine_sum_vectors<kOp>(spec, a, b, y);
      if (done == spec.count) return;
      AffinePairSpec rest = spec;
      rest.count = rest.a_count = rest.b_count = spec.count - done;
      return for_each(rest, a + done, b + done, y + done, [=](std::int32_t p, std::int32_t q) noexcept {
        const std::int32_t l = left((p - a_zero) * scale), r = right((q - b_zero) * scale);
        return out(kOp == AffinePair::add ? l + r : l - r) + y_zero;
      });
    }
    // A shorter operand is repeated, often enough for whole vectors.
    const std::size_t few = spec.a_count < spec.b_count ? spec.a_count : spec.b_count;
    if (few > 1 && few < spec.count && (spec.a_count == spec.count || spec.b_count == spec.count)) {
      const bool left_is_short = spec.a_count == few;
      constexpr std::size_t kRoom = 256;
      alignas(64) T repeated[kRoom];
      const T* again = left_is_short ? a : b;
      std::size_t block = few;
      if (few <= kRoom / 4) {
        block = kRoom / few * few;
        for (std::size_t i = 0; i < block && i < spec.count; ++i) repeated[i] = again[i % few];
        again = repeated;
      }
      for (std::size_t i = 0; i < spec.count; i += block) {
        AffinePairSpec part = spec;
        part.count = spec.count - i < block ? spec.count - i : block;
        part.a_count = part.b_count = part.count;
        affine_sums<kOp>(part, left_is_short ? again : a + i, left_is_short ? b + i : again, y + i);
      }
      return;
    }
  }
#endif
  for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept {
    const std::int32_t l = left((p - a_zero) * scale), r = right((q - b_zero) * scale);
    return out(kOp == AffinePair::add ? l + r : l - r) + y_zero;
  });
}

template <AffinePair kOp, class T>
void affine_op(const AffinePairSpec& spec, const T* a, const T* b, T* y) noexcept {
  const std::int32_t a_zero = spec.a_zero, b_zero = spec.b_zero, y_zero = spec.y_zero;
  if constexpr (kOp == AffinePair::add || kOp == AffinePair::sub) {
    affine_sums<kOp>(spec, a, b, y);
  } else if constexpr (kOp == AffinePair::max) {
    for_each(spec, a, b, y, [](std::int32_t p, std::int32_t q) noexcept { return p > q ? p : q; });
  } else if constexpr (kOp == AffinePair::min) {
    for_each(spec, a, b, y, [](std::int32_t p, std::int32_t q) noexcept { return p < q ? p : q; });
  } else if constexpr (kOp == AffinePair::prelu) {
    const Multiplier32<sizeof(T) == 1> positive(spec.a), negative(spec.y);
    for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept {
      const std::int32_t above = positive(p - a_zero), below = negative((p - a_zero) * (q - b_zero));
      return (p >= a_zero ? above : below) + y_zero;
    });
  } else {
    static_assert(kOp == AffinePair::mul);
    const Multiplier32<sizeof(T) == 1> out(spec.y);
    AffinePairSpec rest = spec;
#if defined(__AVX512F__) || defined(__AVX2__)
    if constexpr (sizeof(T) == 1) {
      if (spec.a_count == spec.count && spec.b_count == spec.count) {
        const std::size_t done = affine_product_lanes(spec, a, b, y);
        if (done == spec.count) return;
        a += done, b += done, y += done;
        rest.count = rest.a_count = rest.b_count = spec.count - done;
      }
    }
#endif
    for_each(rest, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept {
      return out((p - a_zero) * (q - b_zero)) + y_zero;
    });
  }
}

template <class T>
void affine_typed(const AffinePairSpec& spec, const T* a, const T* b, T* y) noexcept {
  switch (spec.op) {
    case AffinePair::add:
      return affine_op<AffinePair::add>(spec, a, b, y);
    case AffinePair::sub:
      return affine_op<AffinePair::sub>(spec, a, b, y);
    case AffinePair::max:
      return affine_op<AffinePair::max>(spec, a, b, y);
    case AffinePair::min:
      return affine_op<AffinePair::min>(spec, a, b, y);
    case AffinePair::prelu:
      return affine_op<AffinePair::prelu>(spec, a, b, y);
    case AffinePair::mul:
      return affine_op<AffinePair::mul>(spec, a, b, y);
    case AffinePair::squared_difference:
      break;  // affine_pairs_for() never chooses these loops for it
  }
}

[[maybe_unused]] void affine_loops(const AffinePairSpec& spec, const void* a, const void* b,
                                   void* y) noexcept {
  if (spec.count == 0) return;
  if (spec.dtype == DType::int16)
    affine_typed(spec, static_cast<const std::int16_t*>(a), static_cast<const std::int16_t*>(b),
                 static_cast<std::int16_t*>(y));
  else
    affine_typed(spec, static_cast<const std::int8_t*>(a), static_cast<const std::int8_t*>(b),
                 static_cast<std::int8_t*>(y));
}

// to_integer() and a saturated store, for integers of at most 16 bits.
template <bool kEven, class T>
void quantize_typed(const Affine& y, std::size_t count, const float* x, T* to) noexcept {
  constexpr std::int32_t kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  constexpr float kFar = 200000;  // beyond every result, whatever the zero point
  const float scale = y.scale;
  const std::int32_t zero = y.zero_point;
  for (std::size_t i = 0; i < count; ++i) {
    float value = x[i] / scale;
    value = value == value ? value : 0.0f;
    value = value > kFar ? kFar : value;
    value = value < -kFar ? -kFar : value;
    if constexpr (kEven) {
      constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, ties to even
      value = (value + kShift) - kShift;
    } else {
      // The largest float below one half: added to it, truncation rounds ties away from zero.
      value += __builtin_copysignf(0x1.fffffep-2f, value);
    }
    std::int32_t integer = truncated(value) + zero;
    integer = integer < kLow ? kLow : integer;
    integer = integer > kHigh ? kHigh : integer;
    to[i] = static_cast<T>(integer);
  }
}
template <class T>
void quantize_rounded(const Affine& y, Rounding rounding, std::size_t count, const float* x, T* to) noexcept {
  if (rounding == Rounding::half_even)
    quantize_typed<true>(y, count, x, to);
  else
    quantize_typed<false>(y, count, x, to);
}
[[maybe_unused]] void quantize_loops(const Affine& y, Rounding rounding, std::size_t count, const float* x,
                                     void* to) noexcept {
  if (y.dtype == DType::int16)
    quantize_rounded(y, rounding, count, x, static_cast<std::int16_t*>(to));
  else if (y.dtype == DType::int8)
    quantize_rounded(y, rounding, count, x, static_cast<std::int8_t*>(to));
  else
    quantize_rounded(y, rounding, count, x, static_cast<std::uint8_t*>(to));
}

template <class T>
void dequantize_typed(const Affine& x, std::size_t count, const T* from, float* y) noexcept {
  const float scale = x.scale;
  const std::int32_t zero = x.zero_point;
  for (std::size_t i = 0; i < count; ++i) y[i] = scale * static_cast<float>(from[i] - zero);
}
[[maybe_unused]] void dequantize_loops(const Affine& x, std::size_t count, const void* from,
                                       float* y) noexcept {
  if (x.dtype == DType::int16)
    dequantize_typed(x, count, static_cast<const std::int16_t*>(from), y);
  else if (x.dtype == DType::int8)
    dequantize_typed(x, count, static_cast<const std::int8_t*>(from), y);
  else
    dequantize_typed(x, count, static_cast<const std::uint8_t*>(from), y);
}

}  // namespace
}  // namespace runnel::kernels
