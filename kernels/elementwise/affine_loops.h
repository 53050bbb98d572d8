// Pairs of affine integers as loops that compilers vectorise; after elementwise_loops.h in the files of the
// instruction levels. Exact where affine_pairs_fit() holds: everything stays within int32.
#pragma once

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

}  // namespace
}  // namespace runnel::kernels
