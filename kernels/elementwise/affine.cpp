#include "kernels/elementwise/affine.h"

#include <bit>

#include "base/checked.h"
#include "kernels/arithmetic/fixed_point.h"
#include "kernels/elementwise/rom_elementwise.h"
#include "kernels/elementwise/sigmoid_table.h"

namespace runnel::kernels {
namespace {

// real = result * 2^exponent, result in [1/2, 1); real is positive and normal.
double fraction_of(double real, int& exponent) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(real);
  exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1022;
  return std::bit_cast<double>((bits & 0xfffffffffffffull) | (std::uint64_t{1022} << 52));
}

// As TfLiteRound.
float rounded(float x) noexcept { return __builtin_roundf(x); }

std::int32_t clamp(std::int64_t value, std::int32_t low, std::int32_t high) noexcept {
  return static_cast<std::int32_t>(value < low ? low : value > high ? high : value);
}

// The larger or smaller of two integers of one scale.
template <class T>
void choices_of(const AffinePairSpec& spec, const T* a, const T* b, T* y) noexcept {
  std::size_t ia = 0, ib = 0;
  for (std::size_t i = 0; i < spec.count; ++i) {
    const bool first = spec.op == AffinePair::max ? a[ia] > b[ib] : a[ia] < b[ib];
    y[i] = static_cast<T>(clamp(first ? a[ia] : b[ib], spec.low, spec.high));
    if (++ia == spec.a_count) ia = 0;
    if (++ib == spec.b_count) ib = 0;
  }
}

// The result without its zero point, for operands without theirs. `op`: that of `spec`.
RUNNEL_KERNEL_INLINE std::int64_t value_of(AffinePair op, const AffinePairSpec& spec, std::int64_t a,
                                           std::int64_t b) noexcept {
  if (op == AffinePair::prelu && a >= 0) return spec.a(a);
  if (op == AffinePair::mul || op == AffinePair::prelu) return spec.y(a * b);
  const std::int64_t left = spec.a(a * (std::int64_t{1} << spec.left_shift)),
                     right = spec.b(b * (std::int64_t{1} << spec.left_shift));
  const std::int64_t sum = op == AffinePair::add ? left + right : left - right;
  return spec.y(op == AffinePair::squared_difference ? sum * sum : sum);
}
std::int64_t pair_of(const AffinePairSpec& spec, std::int64_t a, std::int64_t b) noexcept {
  return value_of(spec.op, spec, a, b);
}

template <class T, class Value>
RUNNEL_KERNEL_INLINE void each_pair(const AffinePairSpec& spec, const T* a, const T* b, T* y,
                                    const Value& value) noexcept {
  std::size_t ia = 0, ib = 0;
  for (std::size_t i = 0; i < spec.count; ++i) {
    const std::int64_t plain = value(std::int64_t{a[ia]} - spec.a_zero, std::int64_t{b[ib]} - spec.b_zero);
    y[i] = static_cast<T>(clamp(plain + spec.y_zero, spec.low, spec.high));
    if (++ia == spec.a_count) ia = 0;
    if (++ib == spec.b_count) ib = 0;
  }
}
template <class T>
void pairs_of(const AffinePairSpec& spec, const T* a, const T* b, T* y) noexcept {
  if (spec.op == AffinePair::max || spec.op == AffinePair::min) return choices_of(spec, a, b, y);
  each_pair(spec, a, b, y, [&](std::int64_t p, std::int64_t q) { return pair_of(spec, p, q); });
}

// The position in the table of sigmoid, in 1/512 of an entry; of tanh: in 1/256.
std::int32_t argument(std::int16_t x, std::int32_t multiplier, int shift) noexcept {
  if (multiplier == 0) {
    multiplier = 3 << shift;
    shift = 0;
  }
  const std::int64_t half = shift > 0 ? std::int64_t{1} << (shift - 1) : 0;
  return static_cast<std::int32_t>((std::int64_t{x} * multiplier + half) >> shift);
}

bool is_power_of_two(float scale, int& exponent) noexcept {
  int e = 0;
  const double fraction = fraction_of(static_cast<double>(scale), e);
  // Within 1e-3 of a power of two in the logarithm, as in the reference.
  constexpr double kNear = 0.0006933;
  if (fraction < 0.5 * (1 + kNear)) {
    exponent = e - 1;
    return true;
  }
  exponent = fraction > 0.70710678 ? e : e - 1;
  return fraction > 1 - kNear;
}

bool set_table_input(AffineUnarySpec& spec, int most) noexcept {
  int exponent = 0;
  const bool power = is_power_of_two(spec.x.scale, exponent);
  const int shift = 12 + exponent;
  if (power && shift >= 0 && shift <= most) {
    spec.input_multiplier = 0;
    spec.input_shift = shift;
    return true;
  }
  double multiplier = static_cast<double>(spec.x.scale) * 4096.0 * 3.0;
  spec.input_shift = 0;
  while (multiplier <= 32767.0 / 2.0 && spec.input_shift <= 30) {
    ++spec.input_shift;
    multiplier *= 2;
  }
  if (multiplier > 32767) return false;
  spec.input_multiplier = static_cast<std::int32_t>(multiplier);
  return true;
}

std::int16_t high_product(std::int16_t a, std::int16_t b) noexcept {  // rounded
  if (a == b && a == -32768) return 32767;
  const std::int32_t product = std::int32_t{a} * b;
  const std::int32_t nudge = product >= 0 ? 1 << 14 : 1 - (1 << 14);
  return static_cast<std::int16_t>((product + nudge) / (1 << 15));
}
std::int16_t high_product_truncated(std::int16_t a, std::int16_t b) noexcept {
  if (a == b && a == -32768) return 32767;
  return static_cast<std::int16_t>(std::int32_t{a} * b / (1 << 15));
}
std::int16_t shifted_left(std::int16_t x, int amount) noexcept {
  return saturate<std::int16_t>(std::int64_t{x} * (std::int64_t{1} << amount));
}
std::int16_t to_int16_factor(std::int32_t multiplier) noexcept {
  if (multiplier >= 0x7fffffff - (1 << 15)) return 32767;
  return static_cast<std::int16_t>((multiplier + (1 << 15)) >> 16);
}

std::int32_t hard_swish(const AffineUnarySpec& spec, std::int32_t x) noexcept {
  const auto fine = static_cast<std::int16_t>((x - spec.x.zero_point) * (1 << 7));
  const std::int16_t scaled = high_product(fine, spec.output_factor);
  std::int16_t relu = fine;
  if (spec.relu_exponent > 0) relu = shifted_left(relu, spec.relu_exponent - 1);
  relu = high_product(relu, spec.relu_factor);
  if (spec.relu_exponent > 0) relu = shifted_left(relu, 1);
  if (spec.relu_exponent < 0)
    relu = static_cast<std::int16_t>(fixed::divide_by_power(relu, -spec.relu_exponent));
  relu = static_cast<std::int16_t>((relu + (1 << 15)) >> 1);
  const std::int16_t product = high_product_truncated(relu, scaled);
  return fixed::divide_by_power(product, -spec.output_exponent) + spec.y.zero_point;
}

std::int32_t through_fixed_point(const AffineUnarySpec& spec, std::int32_t x) noexcept {
  const std::int32_t input = x - spec.x.zero_point;
  if (input <= -spec.radius) return -128;
  if (input >= spec.radius) return 127;
  const auto argument = static_cast<std::int32_t>(spec.multiplier(input));
  if (spec.op == AffineUnary::sigmoid) return fixed::divide_by_power(fixed::logistic(argument), 23) - 128;
  return fixed::divide_by_power(fixed::tanh(argument), 24);
}

}  // namespace

Multiplier multiplier_of(double real) noexcept {
  if (!(real > 0)) return {};
  int exponent = 0;
  const double fraction = fraction_of(real, exponent);
  auto value = static_cast<std::int64_t>(fraction * 2147483648.0 + 0.5);
  if (value == std::int64_t{1} << 31) {
    value /= 2;
    ++exponent;
  }
  if (exponent < -31) return {};
  if (exponent > 31) return {std::numeric_limits<std::int32_t>::max(), -31};
  return {static_cast<std::int32_t>(value), -exponent};
}

std::int32_t reduced(std::int32_t multiplier) noexcept {
  const std::int32_t bits = multiplier < 0x7fff0000 ? (multiplier + (1 << 15)) >> 16 : 0x7fff;
  return bits << 16;
}

std::int64_t to_integer(float value, float scale, std::int32_t zero_point, Rounding rounding) noexcept {
  const float integer =
      rounding == Rounding::half_even ? __builtin_nearbyintf(value / scale) : rounded(value / scale);
  constexpr float limit = 1e9f;
  if (!(integer > -limit)) return integer != integer ? zero_point : static_cast<std::int64_t>(-limit);
  // By way of 32 bits, which hold the limit: small machines make 64 of a float in emulated double precision.
  return std::int64_t{static_cast<std::int32_t>(integer > limit ? limit : integer)} + zero_point;
}

std::int32_t lowest(DType type) noexcept {
  switch (type) {
    case DType::int8:
      return -128;
    case DType::int16:
      return -32768;
    case DType::int32:
      return std::numeric_limits<std::int32_t>::min();
    default:
      return 0;
  }
}
std::int32_t highest(DType type) noexcept {
  switch (type) {
    case DType::int8:
      return 127;
    case DType::uint8:
      return 255;
    case DType::int16:
      return 32767;
    default:
      return std::numeric_limits<std::int32_t>::max();
  }
}
std::int32_t load(DType type, const void* x, std::size_t i) noexcept {
  switch (type) {
    case DType::int8:
      return static_cast<const std::int8_t*>(x)[i];
    case DType::uint8:
      return static_cast<const std::uint8_t*>(x)[i];
    case DType::int16:
      return static_cast<const std::int16_t*>(x)[i];
    default:
      return static_cast<const std::int32_t*>(x)[i];
  }
}
void store(DType type, void* y, std::size_t i, std::int64_t value) noexcept {
  const std::int32_t limited = clamp(value, lowest(type), highest(type));
  switch (type) {
    case DType::int8:
      static_cast<std::int8_t*>(y)[i] = static_cast<std::int8_t>(limited);
      break;
    case DType::uint8:
      static_cast<std::uint8_t*>(y)[i] = static_cast<std::uint8_t>(limited);
      break;
    case DType::int16:
      static_cast<std::int16_t*>(y)[i] = static_cast<std::int16_t>(limited);
      break;
    default:
      static_cast<std::int32_t*>(y)[i] = limited;
      break;
  }
}

void set_scales(AffinePairSpec& spec, const Affine& a, const Affine& b, const Affine& y) noexcept {
  spec.dtype = y.dtype;
  spec.a_zero = a.zero_point;
  spec.b_zero = b.zero_point;
  spec.y_zero = y.zero_point;
  if (spec.op == AffinePair::mul) {
    spec.y = multiplier_of(static_cast<double>(a.scale) * static_cast<double>(b.scale) /
                           static_cast<double>(y.scale));
    return;
  }
  if (spec.op == AffinePair::max || spec.op == AffinePair::min) return;
  if (spec.op == AffinePair::prelu) {  // in float32, as the reference
    spec.a = multiplier_of(static_cast<double>(a.scale / y.scale));
    spec.y = multiplier_of(static_cast<double>(a.scale * b.scale / y.scale));
    return;
  }
  const bool squared = spec.op == AffinePair::squared_difference;  // fits into 32 bits
  if (squared)
    spec.left_shift = y.dtype == DType::int16 ? 0 : 7;
  else
    spec.left_shift = y.dtype == DType::int16 ? 15 : 20;
  const float larger = a.scale > b.scale ? a.scale : b.scale;
  if (spec.op == AffinePair::add || squared) {
    const double twice = 2 * static_cast<double>(larger);
    spec.a = multiplier_of(static_cast<double>(a.scale) / twice);
    spec.b = multiplier_of(static_cast<double>(b.scale) / twice);
    const double unit = static_cast<double>(1 << spec.left_shift) *
                        (squared ? static_cast<double>(1 << spec.left_shift) : 1.0);
    spec.y = multiplier_of((squared ? twice * twice : twice) / (unit * static_cast<double>(y.scale)));
  } else {  // the reference computes these in float32
    const float twice = 2 * larger, unit = static_cast<float>(1 << spec.left_shift);
    spec.a = multiplier_of(static_cast<double>(a.scale / twice));
    spec.b = multiplier_of(static_cast<double>(b.scale / twice));
    spec.y = multiplier_of(static_cast<double>(twice / (unit * y.scale)));
  }
}

void affine_pairs(const AffinePairSpec& spec, const void* a, const void* b, void* y) noexcept {
  if (spec.dtype == DType::int16) {
    pairs_of(spec, static_cast<const std::int16_t*>(a), static_cast<const std::int16_t*>(b),
             static_cast<std::int16_t*>(y));
  } else {
    pairs_of(spec, static_cast<const std::int8_t*>(a), static_cast<const std::int8_t*>(b),
             static_cast<std::int8_t*>(y));
  }
}

template <AffinePair kOp, class T>
void rom_affine_pair(const void* spec, const void* a, const void* b, void* y) noexcept {
  const auto& of = *static_cast<const AffinePairSpec*>(spec);
  each_pair(of, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(y),
            [&](std::int64_t p, std::int64_t q) { return value_of(kOp, of, p, q); });
}
#define RUNNEL_ROM_PAIR(op)                                                                          \
  template void rom_affine_pair<AffinePair::op, std::int8_t>(const void*, const void*, const void*,  \
                                                             void*) noexcept;                        \
  template void rom_affine_pair<AffinePair::op, std::int16_t>(const void*, const void*, const void*, \
                                                              void*) noexcept;
RUNNEL_ROM_PAIR(add)
RUNNEL_ROM_PAIR(sub)
RUNNEL_ROM_PAIR(mul)
RUNNEL_ROM_PAIR(squared_difference)
RUNNEL_ROM_PAIR(prelu)
#undef RUNNEL_ROM_PAIR

bool set_scales(AffineUnarySpec& spec, float alpha) noexcept {
  const double x = static_cast<double>(spec.x.scale), y = static_cast<double>(spec.y.scale);
  switch (spec.op) {
    case AffineUnary::requantize:
      spec.multiplier = multiplier_of(x / y);
      return true;
    case AffineUnary::relu:
      spec.multiplier = multiplier_of(static_cast<double>(spec.x.scale / spec.y.scale));
      return true;
    case AffineUnary::leaky_relu: {
      spec.multiplier = multiplier_of(static_cast<double>(spec.x.scale / spec.y.scale));
      const float slope = spec.x.scale * alpha / spec.y.scale;
      spec.negate = slope < 0;
      spec.negative = multiplier_of(static_cast<double>(slope < 0 ? -slope : slope));
      return true;
    }
    case AffineUnary::sigmoid:
    case AffineUnary::tanh: {
      if (spec.x.dtype == DType::int16) return set_table_input(spec, spec.op == AffineUnary::tanh ? 1 : 0);
      spec.multiplier = multiplier_of(x * static_cast<double>(1 << 27));
      if (spec.multiplier.shift > 0) return false;
      spec.radius = fixed::input_radius(4, -spec.multiplier.shift);
      return true;
    }
    case AffineUnary::hard_swish: {
      const float fine = (1.0f / 128.0f) * spec.x.scale;
      const Multiplier output = multiplier_of(static_cast<double>(fine / spec.y.scale));
      const Multiplier relu = multiplier_of(static_cast<double>(fine / (3.0f / 32768.0f)));
      spec.output_factor = to_int16_factor(output.value);
      spec.output_exponent = -output.shift;
      spec.relu_factor = to_int16_factor(relu.value);
      spec.relu_exponent = -relu.shift;
      return spec.output_exponent <= 0 && spec.relu_exponent > -31 && spec.relu_exponent < 16;
    }
  }
  return false;
}

std::int32_t affine_unary(const AffineUnarySpec& spec, std::int32_t x) noexcept {
  const std::int64_t input = std::int64_t{x} - spec.x.zero_point;
  std::int64_t value = 0;
  switch (spec.op) {
    case AffineUnary::requantize:
    case AffineUnary::relu:
      value = spec.multiplier(input) + spec.y.zero_point;
      break;
    case AffineUnary::leaky_relu:
      value = input >= 0    ? spec.multiplier(input)
              : spec.negate ? -spec.negative(input)
                            : spec.negative(input);
      value += spec.y.zero_point;
      break;
    case AffineUnary::sigmoid:
    case AffineUnary::tanh:
      if (spec.x.dtype == DType::int16) {
        const auto half = static_cast<std::int16_t>(x);
        return spec.op == AffineUnary::sigmoid
                   ? sigmoid_of_int16(half, spec.input_multiplier, spec.input_shift)
                   : tanh_of_int16(half, spec.input_multiplier, spec.input_shift);
      }
      value = through_fixed_point(spec, x);
      break;
    case AffineUnary::hard_swish:
      value = hard_swish(spec, x);
      break;
  }
  return clamp(value, spec.low, spec.high);
}

void affine_unary(const AffineUnarySpec& spec, std::size_t count, const void* x, void* y) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    store(spec.y.dtype, y, i, affine_unary(spec, load(spec.x.dtype, x, i)));
}

void affine_quantize(const Affine& y, Rounding rounding, std::size_t count, const float* x,
                     void* to) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    store(y.dtype, to, i, to_integer(x[i], y.scale, y.zero_point, rounding));
}
void affine_dequantize(const Affine& x, std::size_t count, const void* from, float* y) noexcept {
  constexpr std::int64_t kExactInFloat = std::int64_t{1} << 24;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t value = std::int64_t{load(x.dtype, from, i)} - x.zero_point;
    // The exact product, rounded once. Double, which small machines emulate and only int32 needs, holds
    // products of up to 53 bits; it rounds longer ones first, so a float may be off by one step.
    if (value >= -kExactInFloat && value <= kExactInFloat)
      y[i] = x.scale * static_cast<float>(static_cast<std::int32_t>(value));
    else
      y[i] = static_cast<float>(static_cast<double>(x.scale) * static_cast<double>(value));
  }
}

std::int16_t sigmoid_of_int16(std::int16_t x, std::int32_t multiplier, int shift) noexcept {
  const std::int32_t input = argument(x, multiplier, shift);
  const auto size = static_cast<std::uint32_t>(input < 0 ? -input : input);
  const std::uint32_t entry = size >> 9;
  std::uint32_t result = 0x7fffu << 10;
  if (entry < 255)
    result = (std::uint32_t{kSigmoid[entry]} << 9) +
             (size & 0x1ff) * (std::uint32_t{kSigmoid[entry + 1]} - kSigmoid[entry]);
  result = input >= 0 ? result + (1u << 9) : (1u << 25) - result + (1u << 9) - 1;
  return static_cast<std::int16_t>(result >> 10);
}

std::int16_t tanh_of_int16(std::int16_t x, std::int32_t multiplier, int shift) noexcept {
  const std::int32_t input = argument(x, multiplier, shift);
  const auto size = static_cast<std::uint32_t>(input < 0 ? -input : input);
  const std::uint32_t entry = size >> 8;
  std::int32_t result = 0xffff << 8;
  if (entry < 255)
    result =
        static_cast<std::int32_t>((std::uint32_t{kSigmoid[entry]} << 8) +
                                  (size & 0xff) * (std::uint32_t{kSigmoid[entry + 1]} - kSigmoid[entry]));
  result = input >= 0 ? result - (1 << 23) + (1 << 7) : -result + (1 << 23) + (1 << 7) - 1;
  return static_cast<std::int16_t>(result >> 8);
}

}  // namespace runnel::kernels
