#include "kernels/transformer/fixed_layer_norm.h"

#include "kernels/affine_softmax.h"
#include "kernels/transformer/fixed_layer_norm_levels.h"

namespace runnel::kernels {
namespace {

template <class T, class U>
void normalize(const FixedLayerNormSpec& spec, const T* x, U* y) noexcept {
  const std::int32_t count = spec.count;
  for (std::size_t row = 0; row < spec.rows; ++row, x += count, y += count) {
    std::int64_t sum = 0, squares = 0;
    for (std::int32_t i = 0; i < count; ++i) {
      sum += x[i];
      squares += std::int32_t{x[i]} * std::int32_t{x[i]};
    }
    const InverseRoot root = inverse_root(count, sum, squares, spec.epsilon);
    const std::int64_t half = std::int64_t{1} << (root.shift - 1);
    for (std::int32_t i = 0; i < count; ++i) {
      const std::int64_t d = std::int64_t{count} * x[i] - sum;
      const std::int64_t z = (d * root.factor + half) >> root.shift;
      const std::int64_t scaled = (z * spec.gain[i] + (1 << 14)) >> 15;
      const std::int64_t value = spec.result(scaled + (spec.offset == nullptr ? 0 : spec.offset[i]));
      y[i] = saturate<U>(value + spec.y_zero);
    }
  }
}

#if defined(RUNNEL_KERNELS_X86) || defined(RUNNEL_KERNELS_NEON) || defined(RUNNEL_KERNELS_RVV)
// Everything stays within 32 bits, and results before the last shift below 2^30.
bool in_32_bits(const FixedLayerNormSpec& spec) noexcept {
  if (spec.result.shift < 0 || spec.result.shift > 31) return false;
  std::int64_t most_offset = 0, most_gain = 0;
  for (std::int32_t i = 0; i < spec.count; ++i) {
    const std::int64_t offset = spec.offset == nullptr ? 0 : spec.offset[i], gain = spec.gain[i];
    most_offset = offset > most_offset ? offset : -offset > most_offset ? -offset : most_offset;
    most_gain = gain > most_gain ? gain : -gain > most_gain ? -gain : most_gain;
  }
  // |z| <= sqrt(count - 1) < 2^8 before its bits after the point; the table's error doubles it nowhere.
  const std::int64_t largest = ((std::int64_t{1} << (kNormBits + 8)) * most_gain >> 15) + 1 + most_offset;
  return largest < (std::int64_t{1} << 30) && Multiplier{spec.result.value, 0}(largest) < (1 << 29);
}
#endif

}  // namespace

InverseRoot inverse_root(std::int32_t count, std::int64_t sum, std::int64_t squares,
                         std::int64_t epsilon) noexcept {
  // At most 2^60 + 2^61.
  const auto spread = static_cast<std::uint64_t>(count * squares - sum * sum + epsilon);
  if (spread == 0) return {};
  const int even = __builtin_clzll(spread) & ~1;
  // spread = f 2^(62 - even) with f in [1, 4), in units of 2^-14 here.
  const auto f = static_cast<std::int64_t>((((spread << even) >> 47) + 1) >> 1);
  InverseRoot root;
  root.factor = one_over_root_from_table(saturate<std::int16_t>(f - 32768));
  root.shift = 15 + 31 - even / 2 - kNormBits;
  return root;
}

void fixed_layer_norm(const FixedLayerNormSpec& spec, const void* x, void* y) noexcept {
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

template <class X, class Y>
void rom_layer_norm(const void* spec, const void* x, const void*, void* y) noexcept {
  normalize(*static_cast<const FixedLayerNormSpec*>(spec), static_cast<const X*>(x), static_cast<Y*>(y));
}
template void rom_layer_norm<std::int8_t, std::int8_t>(const void*, const void*, const void*, void*) noexcept;
template void rom_layer_norm<std::int8_t, std::int16_t>(const void*, const void*, const void*,
                                                        void*) noexcept;
template void rom_layer_norm<std::int16_t, std::int8_t>(const void*, const void*, const void*,
                                                        void*) noexcept;
template void rom_layer_norm<std::int16_t, std::int16_t>(const void*, const void*, const void*,
                                                         void*) noexcept;

FixedLayerNorm fixed_layer_norm_for([[maybe_unused]] const FixedLayerNormSpec& spec,
                                    [[maybe_unused]] Isa isa) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx2 && in_32_bits(spec))
    return isa >= Isa::avx512 ? fixed_layer_norm_avx512() : fixed_layer_norm_avx2();
#elif defined(RUNNEL_KERNELS_NEON)
  if (isa >= Isa::neon && in_32_bits(spec)) return fixed_layer_norm_neon();
#elif defined(RUNNEL_KERNELS_RVV)
  if (isa == Isa::rvv && in_32_bits(spec)) return fixed_layer_norm_rvv();
#endif
  return fixed_layer_norm;
}

}  // namespace runnel::kernels
