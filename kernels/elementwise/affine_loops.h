// Affine integers as loops that compilers vectorise; after elementwise_loops.h in the files of the
// instruction levels. Pairs are exact where affine_pairs_for() chooses them: everything stays within int32.
#pragma once

#include <limits>

#include "kernels/elementwise/affine.h"
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {
namespace {

// Multiplier::operator() for 32-bit values and shifts of 0 to 31.
struct Multiplier32 {
  std::int64_t value;
  std::int32_t shift, mask;
  explicit Multiplier32(const Multiplier& of) noexcept
      : value(of.value),
        shift(of.shift),
        mask(static_cast<std::int32_t>((std::int64_t{1} << of.shift) - 1)) {}
  [[gnu::always_inline]] std::int32_t operator()(std::int32_t x) const noexcept {
    // Of the shifted product only the low half is used: a logical shift, which AVX2 has, gives the same.
    const auto nudged = static_cast<std::uint64_t>(x * value + (std::int64_t{1} << 30));
    const auto high = static_cast<std::int32_t>(static_cast<std::uint32_t>(nudged >> 31));
    const std::int32_t threshold = (mask >> 1) + (high < 0 ? 1 : 0);
    return (high >> shift) + ((high & mask) > threshold ? 1 : 0);
  }
};

template <AffinePair kOp, class T>
void affine_sums(const AffinePairSpec& spec, const T* a, const T* b, T* y) noexcept {
  const Multiplier32 left(spec.a), right(spec.b), out(spec.y);
  const std::int32_t a_zero = spec.a_zero, b_zero = spec.b_zero, y_zero = spec.y_zero,
                     scale = 1 << spec.left_shift;
  for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept {
    const std::int32_t l = left((p - a_zero) * scale), r = right((q - b_zero) * scale);
    return out(kOp == AffinePair::add ? l + r : l - r) + y_zero;
  });
}

template <class T>
void affine_typed(const AffinePairSpec& spec, const T* a, const T* b, T* y) noexcept {
  const std::int32_t a_zero = spec.a_zero, b_zero = spec.b_zero, y_zero = spec.y_zero;
  switch (spec.op) {
    case AffinePair::add:
      return affine_sums<AffinePair::add>(spec, a, b, y);
    case AffinePair::sub:
      return affine_sums<AffinePair::sub>(spec, a, b, y);
    case AffinePair::max:
      return for_each(spec, a, b, y, [](std::int32_t p, std::int32_t q) noexcept { return p > q ? p : q; });
    case AffinePair::min:
      return for_each(spec, a, b, y, [](std::int32_t p, std::int32_t q) noexcept { return p < q ? p : q; });
    case AffinePair::prelu: {
      const Multiplier32 positive(spec.a), negative(spec.y);
      return for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept {
        const std::int32_t above = positive(p - a_zero), below = negative((p - a_zero) * (q - b_zero));
        return (p >= a_zero ? above : below) + y_zero;
      });
    }
    default: {
      const Multiplier32 out(spec.y);
      return for_each(spec, a, b, y, [=](std::int32_t p, std::int32_t q) noexcept {
        return out((p - a_zero) * (q - b_zero)) + y_zero;
      });
    }
  }
}

void affine_loops(const AffinePairSpec& spec, const void* a, const void* b, void* y) noexcept {
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
    std::int32_t integer = static_cast<std::int32_t>(value) + zero;
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
void quantize_loops(const Affine& y, Rounding rounding, std::size_t count, const float* x,
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
void dequantize_loops(const Affine& x, std::size_t count, const void* from, float* y) noexcept {
  if (x.dtype == DType::int16)
    dequantize_typed(x, count, static_cast<const std::int16_t*>(from), y);
  else if (x.dtype == DType::int8)
    dequantize_typed(x, count, static_cast<const std::int8_t*>(from), y);
  else
    dequantize_typed(x, count, static_cast<const std::uint8_t*>(from), y);
}

}  // namespace
}  // namespace runnel::kernels
