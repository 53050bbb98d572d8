#include "compiler/npu/average.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "npu/arithmetic.h"

namespace runnel::compiler::ethos_u {
namespace {

constexpr std::int64_t kLow = -128, kHigh = 127;
constexpr std::int32_t kMaxElements = 8192;

std::int64_t limited(std::int64_t value) { return std::clamp(value, kLow, kHigh); }

std::int64_t computed(const AverageForm& form, std::int64_t sum, std::int64_t count) {
  const std::int64_t centred = sum - form.zero_point * count;
  const std::int64_t value =
      form.global
          ? npu::clamp_between(npu::scale_and_round(centred, form.scale, form.rounding), INT32_MIN, INT32_MAX)
          : npu::divide_half_away(centred, count);
  return limited(value + form.zero_point);
}

bool agrees(const AverageForm& form, const ExpectedAverage& expected, std::int32_t least, std::int32_t most) {
  for (std::int64_t count = least; count <= most; ++count) {
    for (std::int64_t sum = kLow * count; sum <= kHigh * count; ++sum) {
      if (computed(form, sum, count) != limited(expected(sum, count))) return false;
    }
  }
  return true;
}

// 1 / count as the accelerator's own compiler scales it: a little more than the quotient, so that ties are
// seen as such.
npu::Scale own_scale(std::int64_t count, int multiplier_bits) {
  const int bits = std::bit_width(static_cast<std::uint64_t>(count - 1)), shift = multiplier_bits - 1 + bits;
  return {static_cast<std::uint32_t>(((std::int64_t{1} << shift) + (std::int64_t{1} << bits)) / count),
          static_cast<std::uint8_t>(shift)};
}

}  // namespace

Result<AverageForm> average_form(const ExpectedAverage& expected, std::int32_t least, std::int32_t most,
                                 double ratio, int multiplier_bits) {
  if (most > kMaxElements)
    return Status(Code::unsupported) << "windows of " << most << " elements, expected at most "
                                     << kMaxElements;
  std::vector<AverageForm> forms;
  if (least == most) {
    if (ratio == 1) {
      for (const std::int32_t zero : {0, -128})
        forms.push_back({true, own_scale(most, multiplier_bits), npu::Rounding::tfl, zero});
    }
    int exponent = 0;
    const double fraction = std::frexp(ratio / most, &exponent);
    // A power of two, exactly; else 31 bits, rounded either way.
    if (fraction == 0.5 && exponent <= 1)
      forms.push_back({true, {1, static_cast<std::uint8_t>(1 - exponent)}, npu::Rounding::natural, 0});
    if (fraction == 0.5 && exponent > 1 && exponent < 32)
      forms.push_back({true, {1u << (exponent - 1), 0}, npu::Rounding::natural, 0});
    const int shift = 31 - exponent;
    for (const double value : {std::floor(std::ldexp(fraction, 31)), std::ceil(std::ldexp(fraction, 31))}) {
      if (shift < 0 || shift > 63) continue;
      for (const npu::Rounding rounding : {npu::Rounding::natural, npu::Rounding::tfl})
        forms.push_back(
            {true, {static_cast<std::uint32_t>(value), static_cast<std::uint8_t>(shift)}, rounding, 0});
    }
  } else if (ratio == 1) {
    for (const std::int32_t zero : {0, -128}) forms.push_back({false, {}, npu::Rounding::tfl, zero});
  }
  for (const AverageForm& form : forms) {
    if (static_cast<int>(std::bit_width(form.scale.multiplier)) > multiplier_bits) continue;
    if (agrees(form, expected, least, most)) return form;
  }
  return Status(Code::unsupported) << "averages of " << least << " to " << most
                                   << " elements that round otherwise than the NPU";
}

}  // namespace runnel::compiler::ethos_u
