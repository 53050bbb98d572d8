// The specification of the element-wise operations: one element at a time, int64.
#include "kernels/elementwise/elementwise_levels.h"
#include "kernels/rom_kernels.h"

namespace runnel::kernels {
namespace {

std::int64_t clamp(std::int64_t value, std::int64_t low, std::int64_t high) noexcept {
  return value < low ? low : value > high ? high : value;
}

std::int64_t load(DType type, const void* x, std::size_t i) noexcept {
  if (type == DType::int8) return static_cast<const std::int8_t*>(x)[i];
  if (type == DType::int16) return static_cast<const std::int16_t*>(x)[i];
  return static_cast<const std::int32_t*>(x)[i];
}

void store(DType type, void* y, std::size_t i, std::int64_t value) noexcept {
  if (type == DType::int8)
    static_cast<std::int8_t*>(y)[i] = saturate<std::int8_t>(value);
  else if (type == DType::int16)
    static_cast<std::int16_t*>(y)[i] = saturate<std::int16_t>(value);
  else
    static_cast<std::int32_t*>(y)[i] = saturate<std::int32_t>(value);
}

std::int64_t combine(BinaryOp op, std::int64_t a, std::int64_t b) noexcept {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::max:
      return a > b ? a : b;
    case BinaryOp::min:
      return a < b ? a : b;
    case BinaryOp::prelu:
      break;  // binary_value()
  }
  return 0;
}

std::int64_t binary_value(const BinarySpec& spec, std::int64_t a, std::int64_t b) noexcept {
  if (spec.op == BinaryOp::mul) {
    if (spec.exact)
      return round_shift(a * b, spec.y_exponent - spec.a_exponent - spec.b_exponent, spec.rounding);
    const float scale = power_of_two(spec.a_exponent + spec.b_exponent - spec.y_exponent);
    return round_float(static_cast<float>(a * b) * scale, spec.rounding);
  }
  if (spec.op == BinaryOp::prelu) {
    return a < 0 ? round_shift(a * b, spec.y_exponent - spec.a_exponent - spec.b_exponent, spec.rounding)
                 : round_shift(a, spec.y_exponent - spec.a_exponent, spec.rounding);
  }
  if (!spec.exact) {
    // An operand beyond 2^40 saturates every result; the limit keeps the sum inside int64.
    constexpr std::int64_t far = std::int64_t{1} << 40;
    return combine(spec.op,
                   clamp(round_shift(a, spec.y_exponent - spec.a_exponent, spec.rounding), -far, far),
                   clamp(round_shift(b, spec.y_exponent - spec.b_exponent, spec.rounding), -far, far));
  }
  const int common = spec.a_exponent < spec.b_exponent ? spec.a_exponent : spec.b_exponent;
  // Exponents further apart than 45 saturate here already; the limit keeps the sum inside int64.
  constexpr std::int64_t far = std::int64_t{1} << 61;
  const std::int64_t left = clamp(round_shift(a, common - spec.a_exponent, spec.rounding), -far, far);
  const std::int64_t right = clamp(round_shift(b, common - spec.b_exponent, spec.rounding), -far, far);
  return round_shift(combine(spec.op, left, right), spec.y_exponent - common, spec.rounding);
}

void binary(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept {
  for (std::size_t i = 0; i < spec.count; ++i) {
    const std::int64_t value =
        binary_value(spec, load(spec.dtype, a, i % spec.a_count), load(spec.dtype, b, i % spec.b_count));
    store(spec.dtype, y, i, clamp(value, spec.low, spec.high));
  }
}

void requantize(DType from, DType to, std::size_t count, const void* x, void* y, int shift, Rounding rounding,
                std::int32_t low, std::int32_t high) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    store(to, y, i, clamp(round_shift(load(from, x, i), shift, rounding), low, high));
  }
}

void lut8(std::size_t count, const std::int8_t* x, std::int8_t* y, const std::int8_t* table) noexcept {
  for (std::size_t i = 0; i < count; ++i) y[i] = table[x[i] + 128];
}

void lut16(std::size_t count, const std::int16_t* x, std::int16_t* y, const std::int16_t* table,
           std::int32_t entries, bool linear, Rounding rounding) noexcept {
  const std::int32_t step = 65536 / (entries - 1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t position = x[i] + 32768;
    const std::int32_t index = position / step;
    const std::int32_t rest = position % step;
    if (linear) {
      int shift = 0;
      while ((1 << shift) < step) ++shift;
      const std::int64_t scaled =
          std::int64_t{table[index]} * (step - rest) + std::int64_t{rest == 0 ? 0 : table[index + 1]} * rest;
      y[i] = saturate<std::int16_t>(round_shift(scaled, shift, rounding));
    } else {
      const bool tie_up = rounding != Rounding::half_even || (index & 1) != 0;
      y[i] = table[index + ((2 * rest > step || (step > 1 && 2 * rest == step && tie_up)) ? 1 : 0)];
    }
  }
}

void quantize(DType to, std::size_t count, const float* x, void* y, int exponent,
              Rounding rounding) noexcept {
  const float scale = power_of_two(-exponent);
  for (std::size_t i = 0; i < count; ++i) store(to, y, i, round_float(x[i] * scale, rounding));
}

void dequantize(DType from, std::size_t count, const void* x, float* y, int exponent) noexcept {
  const float scale = power_of_two(exponent);
  for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<float>(load(from, x, i)) * scale;
}

constexpr Elementwise kReference{binary, requantize, lut8, lut16, quantize, dequantize};

}  // namespace

const Elementwise& elementwise(Isa isa) noexcept {
  switch (isa) {
    case Isa::reference:
      return kReference;
#if defined(RUNNEL_KERNELS_X86)
    case Isa::amx:
    case Isa::avx512vnni:
    case Isa::avx512:
      return elementwise_avx512();
    case Isa::avx2:
      return elementwise_avx2();
#elif defined(RUNNEL_KERNELS_NEON)
    case Isa::neon:
    case Isa::neondot:
    case Isa::neoni8mm:
      return elementwise_neon();
#elif defined(RUNNEL_KERNELS_RVV)
    case Isa::rvv:
      return elementwise_rvv();
#endif
    default:
      return elementwise_generic();
  }
}

void rom_binary_any(const void* spec, const void* a, const void* b, void* y) noexcept {
  binary(*static_cast<const BinarySpec*>(spec), a, b, y);
}

}  // namespace runnel::kernels
