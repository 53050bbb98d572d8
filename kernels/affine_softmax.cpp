#include "kernels/affine_softmax.h"

#include <array>
#include <limits>

#include "kernels/arithmetic/fixed_point.h"

namespace runnel::kernels {
namespace {

// ---- tables of int16
constexpr int kSteps = 512;
using Table = std::array<std::int16_t, kSteps + 1>;

// Rounds ties away from zero. In double the sum is exact.
constexpr float nearest(float x) {
  const double size = (x < 0 ? -static_cast<double>(x) : static_cast<double>(x)) + 0.5;
  const auto whole = static_cast<float>(static_cast<std::int64_t>(size));
  return x < 0 ? -whole : whole;
}

// e^x for x in [-11, 0], well beyond a float's 24 bits: Taylor series of x / 16, squared four times.
constexpr float exp_of(float x) {
  const double part = static_cast<double>(x) / 16;
  double sum = 1;
  for (int i = 20; i > 0; --i) sum = 1 + sum * part / i;
  for (int i = 0; i < 4; ++i) sum *= sum;
  return static_cast<float>(sum);
}
constexpr float one_over_one_plus(float x) { return 1.0f / (1.0f + x); }
// Of x >= 1; below, where nobody asks, 1. Newton's method.
constexpr float one_over_root(float x) {
  if (x < 1) return 1;
  double root = static_cast<double>(x);
  for (int i = 0; i < 20; ++i) root = (root + static_cast<double>(x) / root) / 2;
  return static_cast<float>(1 / root);
}

constexpr std::int16_t entry(float value) {
  return static_cast<std::int16_t>(value < -32768.0f ? -32768.0f : value > 32767.0f ? 32767.0f : value);
}

// Entry i is the function at the i-th of 513 places from `scale` * (-32768 - zero) to `scale` * (32767 -
// zero), less half the error of linear interpolation at the middle of the step. float32 throughout, in this
// order of operations: the entries define the result.
constexpr Table make_table(float scale, std::int32_t zero, float (*function)(float)) {
  const float first = scale * static_cast<float>(-32768 - zero),
              last = scale * static_cast<float>(32767 - zero);
  const float unit = 2.0f / 65535.0f;  // of the results
  const float inverse = 65536.0f / (unit * 32767.0f - unit * -32768.0f);
  const float step = (last - first) / static_cast<float>(kSteps), half = step / 2;
  Table table{};
  for (int i = 0; i < kSteps; ++i) {
    const float x = first + static_cast<float>(i) * step;
    const float here = nearest(function(x) * inverse), middle = nearest(function(x + half) * inverse);
    const float line = nearest((function(first + static_cast<float>(i + 1) * step) * inverse + here) / 2);
    table[static_cast<std::size_t>(i)] = entry(here - nearest((line - middle) / 2));
  }
  table[kSteps] = entry(nearest(function(last) * inverse));
  return table;
}
constexpr Table kExp = make_table(10.0f / 65535.0f, 32767, exp_of);
constexpr Table kOneOverOnePlus = make_table(1.0f / 65535.0f, -32768, one_over_one_plus);
constexpr Table kOneOverRoot = make_table(4.0f / 65535.0f, -32768, one_over_root);

std::int16_t look_up(const Table& table, std::int16_t value) noexcept {
  const auto index = static_cast<std::size_t>(256 + (value >> 7));
  const std::int32_t slope = table[index + 1] - table[index];
  return static_cast<std::int16_t>(table[index] + ((slope * (value & 0x7f) + 64) >> 7));
}

void softmax_of_int16(const AffineSoftmaxSpec& spec, const std::int16_t* x, std::int16_t* y) noexcept {
  for (std::size_t row = 0; row < spec.rows; ++row, x += spec.count, y += spec.count) {
    std::int32_t largest = -32768;
    for (std::size_t i = 0; i < spec.count; ++i) largest = x[i] > largest ? x[i] : largest;
    std::int64_t sum = 0;  // Q15; y holds the terms until then
    for (std::size_t i = 0; i < spec.count; ++i) {
      y[i] = exp_from_table(saturate<std::int16_t>(spec.multiplier(x[i] - largest) + 32767));
      sum += y[i];
    }
    const auto bounded = saturate<std::int32_t>(sum);  // at least 32767, the term of the largest value
    const int headroom = __builtin_clz(static_cast<std::uint32_t>(bounded));
    const std::int64_t shifted =
        ((std::int64_t{bounded} << (headroom - 1)) + (1 << 13)) >> 14;  // in [65536, 131072]: 1 + x
    const std::int16_t reciprocal =
        one_over_one_plus_from_table(saturate<std::int16_t>(shifted - 65536 - 32768));
    const int shift = 31 - headroom;
    for (std::size_t i = 0; i < spec.count; ++i) {
      const std::int32_t value =
          (std::int32_t{y[i]} * reciprocal + (std::int32_t{1} << (shift - 1))) >> shift;
      y[i] = static_cast<std::int16_t>(value < 0 ? 0 : value > 32767 ? 32767 : value);
    }
  }
}

// ---- int8
void softmax_of_int8(const AffineSoftmaxSpec& spec, const std::int8_t* x, void* y) noexcept {
  const bool wide = spec.to == DType::int16;
  const std::int32_t low = wide ? -32768 : -128;
  const auto exp_of = [&](std::int32_t difference) {
    return fixed::exp_of_negative(static_cast<std::int32_t>(spec.multiplier(difference)), 5);
  };
  for (std::size_t row = 0; row < spec.rows; ++row, x += spec.count) {
    std::int32_t largest = -128;
    for (std::size_t i = 0; i < spec.count; ++i) largest = x[i] > largest ? x[i] : largest;
    std::int64_t sum = 0;  // Q12
    for (std::size_t i = 0; i < spec.count; ++i) {
      const std::int32_t difference = x[i] - largest;
      if (difference >= spec.least_difference) sum += fixed::divide_by_power(exp_of(difference), 12);
    }
    int bits = 0;
    const std::int32_t scale = fixed::reciprocal(saturate<std::int32_t>(sum), 12, bits);
    const int exponent = bits + 31 - (wide ? 16 : 8);
    for (std::size_t i = 0; i < spec.count; ++i) {
      const std::int32_t difference = x[i] - largest;
      std::int64_t value = low;
      if (difference >= spec.least_difference)
        value +=
            fixed::divide_by_power(fixed::multiply(scale, exp_of(difference)), exponent < 31 ? exponent : 31);
      store(spec.to, y, row * spec.count + i, value);
    }
  }
}

// The same with a table. Exponentials and the reciprocal are positive, so that both roundings add a half.
template <class Y>
void softmax_by_table(const AffineSoftmaxSpec& spec, const std::int8_t* x, Y* y) noexcept {
  constexpr std::int32_t kLow = std::numeric_limits<Y>::min(), kHigh = std::numeric_limits<Y>::max();
  for (std::size_t row = 0; row < spec.rows; ++row, x += spec.count, y += spec.count) {
    std::int32_t largest = -128;
    for (std::size_t i = 0; i < spec.count; ++i) largest = x[i] > largest ? x[i] : largest;
    std::int64_t sum = 0;  // Q12
    for (std::size_t i = 0; i < spec.count; ++i)
      sum += (std::int64_t{spec.exponentials[largest - x[i]]} + (1 << 11)) >> 12;
    int bits = 0;
    const std::int64_t scale = fixed::reciprocal(saturate<std::int32_t>(sum), 12, bits);
    const int exponent = bits + 31 - 8 * static_cast<int>(sizeof(Y)), shift = exponent < 31 ? exponent : 31;
    const std::int64_t half = shift > 0 ? std::int64_t{1} << (shift - 1) : 0;
    for (std::size_t i = 0; i < spec.count; ++i) {
      const std::int64_t product = (scale * spec.exponentials[largest - x[i]] + (1 << 30)) >> 31;
      const std::int64_t value = kLow + ((product + half) >> shift);
      y[i] = static_cast<Y>(value > kHigh ? kHigh : value);
    }
  }
}

}  // namespace

void fill_exponentials(const AffineSoftmaxSpec& spec, std::int32_t* table) noexcept {
  for (std::int32_t below = 0; below < kExponentials; ++below)
    table[below] = -below < spec.least_difference
                       ? 0
                       : fixed::exp_of_negative(static_cast<std::int32_t>(spec.multiplier(-below)), 5);
}

std::int16_t exp_from_table(std::int16_t value) noexcept { return look_up(kExp, value); }
std::int16_t one_over_one_plus_from_table(std::int16_t value) noexcept {
  return look_up(kOneOverOnePlus, value);
}
std::int16_t one_over_root_from_table(std::int16_t value) noexcept { return look_up(kOneOverRoot, value); }

void set_scales(AffineSoftmaxSpec& spec, float x_scale, float beta) noexcept {
  const double scale = static_cast<double>(x_scale), factor = static_cast<double>(beta);
  if (spec.from == DType::int16) {  // differences of [-65535, 0] stand for [-10, 0]
    spec.multiplier = multiplier_of(scale * factor / (10.0 / 65535.0));
    return;
  }
  const double real = factor * scale * static_cast<double>(1 << 26);
  constexpr double most = 2147483647.0;
  spec.multiplier = multiplier_of(real < most ? real : most);
  spec.least_difference = -fixed::input_radius(5, -spec.multiplier.shift);
}

template <class X>
void rom_affine_softmax(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& of = *static_cast<const AffineSoftmaxSpec*>(spec);
  if constexpr (sizeof(X) == 1)
    softmax_of_int8(of, static_cast<const X*>(x), y);
  else
    softmax_of_int16(of, static_cast<const X*>(x), static_cast<X*>(y));
}
template void rom_affine_softmax<std::int8_t>(const void*, const void*, const void*, void*) noexcept;
template void rom_affine_softmax<std::int16_t>(const void*, const void*, const void*, void*) noexcept;

void affine_softmax(const AffineSoftmaxSpec& spec, const void* x, void* y) noexcept {
  if (spec.from == DType::int16)
    softmax_of_int16(spec, static_cast<const std::int16_t*>(x), static_cast<std::int16_t*>(y));
  else if (spec.exponentials != nullptr && spec.to == DType::int16)
    softmax_by_table(spec, static_cast<const std::int8_t*>(x), static_cast<std::int16_t*>(y));
  else if (spec.exponentials != nullptr)
    softmax_by_table(spec, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(y));
  else
    softmax_of_int8(spec, static_cast<const std::int8_t*>(x), y);
}

}  // namespace runnel::kernels
