#include "npu/host/simulator/output_stage.h"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise/affine.h"
#include "npu/bounds.h"

namespace runnel::npu {
namespace {

struct Limits {
  std::int64_t low, high;
};

// The limits of the output's type, or of the type that the activation names.
Limits limits_of(const Operation& op) noexcept {
  switch (op.activation.clip) {
    case 2:
      return {0, 255};
    case 3:
      return {-128, 127};
    case 5:
      return {-32768, 32767};
    default:
      break;
  }
  if (op.ofm.element == 1) return op.ofm.is_signed ? Limits{-128, 127} : Limits{0, 255};
  if (op.ofm.element == 2) return op.ofm.is_signed ? Limits{-32768, 32767} : Limits{0, 65535};
  return {INT32_MIN, INT32_MAX};
}

template <class T>
T table_entry(const std::byte* table, std::int64_t index) noexcept {
  T value;
  std::memcpy(&value, table + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

}  // namespace

OutputStage::OutputStage(const Operation& op, const Accelerator& accelerator,
                         std::span<const std::byte> internal) noexcept
    : function_(op.activation.function),
      zero_point_(op.ofm.zero_point),
      rounding_(op.rounding),
      element_(op.ofm.element),
      signed_(op.ofm.is_signed),
      raw_(op.raw_output()),
      accumulator_bits_(accumulator_bits(op)) {
  const Limits limits = limits_of(op);
  low_ = std::max<std::int64_t>(limits.low, op.activation.low);
  high_ = std::min<std::int64_t>(limits.high, op.activation.high);
  if (op.activation.table())
    table_ = internal.data() + accelerator.table_base() +
             std::size_t{table_bytes(element_)} * static_cast<std::size_t>(op.activation.slot());
}

std::int32_t OutputStage::operator()(Wide value) const noexcept {
  if (raw_) return static_cast<std::int32_t>(clamp_between(value, INT32_MIN, INT32_MAX));
  if (function_ == Activation::kTanh || function_ == Activation::kSigmoid)
    return static_cast<std::int32_t>(clamp_between(activate(value), low_, high_));
  const std::int64_t limited = clamp_between(value + zero_point_, low_, high_);
  return table_ == nullptr ? static_cast<std::int32_t>(limited) : look_up(limited);
}

bool OutputStage::of_kernel(KernelOutput& output) const noexcept {
  output = {rounding_, zero_point_, low_, high_, element_, signed_, accumulator_bits_};
  return element_ <= 2 && (function_ == Activation::kNone || table_ != nullptr);
}

void OutputStage::finish(std::span<std::byte> elements) const noexcept {
  if (table_ == nullptr) return;
  if (element_ == 1) {
    const std::byte flip{static_cast<unsigned char>(signed_ ? 0x80 : 0)};
    for (std::byte& element : elements) element = table_[std::to_integer<std::size_t>(element ^ flip)];
    return;
  }
  for (std::size_t i = 0; i < elements.size(); i += 2) {
    std::uint16_t bits;
    std::memcpy(&bits, elements.data() + i, 2);
    const auto result =
        static_cast<std::uint16_t>(look_up(signed_ ? static_cast<std::int16_t>(bits) : std::int32_t{bits}));
    std::memcpy(elements.data() + i, &result, 2);
  }
}

// The argument is in units of 1/12288 and not limited to 16 bits; the result has 15 fractional bits, and
// limits apply to the result.
std::int32_t OutputStage::activate(Wide value) const noexcept {
  constexpr std::int64_t kFlat = 1 << 20;  // from here on the functions are constant
  const auto argument = static_cast<std::int32_t>(clamp_between(value, -kFlat, kFlat));
  // The kernels take the argument as a product, where a multiplier of 0 has a special meaning.
  const std::int16_t x = argument == 0 ? 0 : 1;
  const std::int32_t multiplier = argument == 0 ? 1 : argument;
  return function_ == Activation::kSigmoid ? kernels::sigmoid_of_int16(x, multiplier, 0)
                                           : kernels::tanh_of_int16(x, multiplier, 0);
}

std::int32_t OutputStage::look_up(std::int64_t value) const noexcept {
  if (element_ == 1) {
    const std::int64_t index = signed_ ? clamp_between(value, -128, 127) + 128 : clamp_between(value, 0, 255);
    return signed_ ? std::int32_t{table_entry<std::int8_t>(table_, index)}
                   : std::int32_t{table_entry<std::uint8_t>(table_, index)};
  }
  if (element_ == 4) return table_entry<std::int32_t>(table_, clamp_between(value, -128, 127) + 128);
  // Linear interpolation: an entry has the value in the lower half, the slope in the upper half.
  const std::int64_t half = clamp_between(value, -32768, 32767);
  const auto entry = table_entry<std::uint32_t>(table_, (half >> 7) + 256);
  const auto base = static_cast<std::int16_t>(entry & 0xffff), slope = static_cast<std::int16_t>(entry >> 16);
  return static_cast<std::int32_t>(clamp_between(base + ((slope * (half & 127) + 64) >> 7), -32768, 32767));
}

}  // namespace runnel::npu
