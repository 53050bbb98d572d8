#include "kernels/elementwise/rom_elementwise.h"

#include "kernels/elementwise/affine_loops.h"
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {
namespace {

template <class Spec>
const Spec& as(const void* spec) noexcept {
  return *static_cast<const Spec*>(spec);
}

template <class T>
void requantize_one(DType, DType, std::size_t count, const void* x, void* y, int shift, Rounding rounding,
                    std::int32_t low, std::int32_t high) noexcept {
  requantize_typed<T, T>(count, x, y, shift, rounding, low, high);
}

}  // namespace

constinit const Elementwise kRomRequantize8{nullptr, requantize_one<std::int8_t>, nullptr, nullptr, nullptr,
                                            nullptr};
constinit const Elementwise kRomRequantize16{nullptr, requantize_one<std::int16_t>, nullptr, nullptr, nullptr,
                                             nullptr};

void rom_table8(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& of = as<RomTable8>(spec);
  lut8_loops(of.count, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(y),
             static_cast<const std::int8_t*>(of.table));
}

void rom_table16(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& of = as<RomTable16>(spec);
  lut16_loops(of.count, static_cast<const std::int16_t*>(x), static_cast<std::int16_t*>(y),
              static_cast<const std::int16_t*>(of.table), of.entries, of.linear, of.rounding);
}

template <class X, class Y>
void rom_requantize(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& of = as<RomRequantize>(spec);
  requantize_typed<X, Y>(of.count, x, y, of.shift, of.rounding, of.low, of.high);
}
template void rom_requantize<std::int8_t, std::int8_t>(const void*, const void*, const void*, void*) noexcept;
template void rom_requantize<std::int8_t, std::int16_t>(const void*, const void*, const void*,
                                                        void*) noexcept;
template void rom_requantize<std::int16_t, std::int8_t>(const void*, const void*, const void*,
                                                        void*) noexcept;
template void rom_requantize<std::int16_t, std::int16_t>(const void*, const void*, const void*,
                                                         void*) noexcept;

template <class T>
void rom_to_integers(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& of = as<RomScale>(spec);
  quantize_typed<T>(of.count, static_cast<const float*>(x), y, of.exponent, of.rounding);
}
template void rom_to_integers<std::int8_t>(const void*, const void*, const void*, void*) noexcept;
template void rom_to_integers<std::int16_t>(const void*, const void*, const void*, void*) noexcept;

template <class T>
void rom_to_floats(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& of = as<RomScale>(spec);
  dequantize_typed<T>(of.count, x, static_cast<float*>(y), of.exponent);
}
template void rom_to_floats<std::int8_t>(const void*, const void*, const void*, void*) noexcept;
template void rom_to_floats<std::int16_t>(const void*, const void*, const void*, void*) noexcept;

void rom_affine_to_integers(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& of = as<RomAffineScale>(spec);
  affine_quantize(of.affine, of.rounding, of.count, static_cast<const float*>(x), y);
}
void rom_affine_to_floats(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& of = as<RomAffineScale>(spec);
  affine_dequantize(of.affine, of.count, x, static_cast<float*>(y));
}

void rom_affine_unary(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& of = as<RomAffineUnary>(spec);
  affine_unary(of.spec, of.count, x, y);
}
void rom_affine_requantize(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& [count, s] = as<RomAffineUnary>(spec);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t value =
        s.multiplier(std::int64_t{load(s.x.dtype, x, i)} - s.x.zero_point) + s.y.zero_point;
    store(s.y.dtype, y, i, value < s.low ? s.low : value > s.high ? s.high : value);
  }
}

template <AffinePair kOp, class T>
void rom_affine_pair32(const void* spec, const void* a, const void* b, void* y) noexcept {
  affine_op<kOp>(as<AffinePairSpec>(spec), static_cast<const T*>(a), static_cast<const T*>(b),
                 static_cast<T*>(y));
}
#define RUNNEL_ROM_PAIR(op)                                                                            \
  template void rom_affine_pair32<AffinePair::op, std::int8_t>(const void*, const void*, const void*,  \
                                                               void*) noexcept;                        \
  template void rom_affine_pair32<AffinePair::op, std::int16_t>(const void*, const void*, const void*, \
                                                                void*) noexcept;
RUNNEL_ROM_PAIR(add)
RUNNEL_ROM_PAIR(sub)
RUNNEL_ROM_PAIR(mul)
RUNNEL_ROM_PAIR(max)
RUNNEL_ROM_PAIR(min)
RUNNEL_ROM_PAIR(prelu)
#undef RUNNEL_ROM_PAIR

void rom_function(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& of = as<RomFunction>(spec);
  apply(of.how, of.count, x, y);
}

}  // namespace runnel::kernels
