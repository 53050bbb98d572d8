#include "npu/host/simulator/u85/output_stage.h"

#include <array>
#include <cstring>

namespace runnel::npu::u85 {
namespace {

template <class T>
std::int64_t entry_of(const std::byte* table, std::int64_t index) noexcept {
  T value;
  std::memcpy(&value, table + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Entries of 512 segments: the value at the begin in the lower half, the slope in the upper half.
struct Segment {
  std::int64_t base, slope, position;
};
Segment segment_of(const std::byte* table, std::int64_t value, int bits) noexcept {
  const auto word = static_cast<std::uint32_t>(entry_of<std::uint32_t>(table, (value >> bits) + 256));
  return {static_cast<std::int16_t>(word & 0xffff), static_cast<std::int16_t>(word >> 16),
          value & ((std::int64_t{1} << bits) - 1)};
}

// Ties away from zero.
std::int64_t shift_half_away(std::int64_t value, int shift) noexcept {
  const std::int64_t magnitude = ((value < 0 ? -value : value) + (std::int64_t{1} << (shift - 1))) >> shift;
  return value < 0 ? -magnitude : magnitude;
}

bool clips_after(Function function) noexcept {
  return function == Function::tanh || function == Function::sigmoid;
}

}  // namespace

OutputStage::OutputStage(const Operation& op, std::span<const std::byte> tables, Fault fault) noexcept
    : table_(tables.data() + table_size(op.u85.function) * op.u85.table),
      scale_(op.u85.ofm_scale),
      function_(op.u85.function),
      clips_(op.u85.clips),
      saturates_(op.ofm.element < 8),
      element_(op.ofm.element),
      half_(fault == Fault::tables_are_cut ? 0 : 64),
      zero_point_(op.ofm.zero_point),
      low_(op.activation.low),
      high_(op.activation.high) {
  if (fault == Fault::narrow_functions) tanh_bits_ = sigmoid_bits_ = 15;
  if (!saturates_) return;
  const int bits = 8 * op.ofm.element;
  least_ = op.ofm.is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
  most_ = (std::int64_t{1} << (op.ofm.is_signed ? bits - 1 : bits)) - 1;
}

std::int64_t OutputStage::unscaled(Wide value) const noexcept {
  value += zero_point_;
  const bool after = clips_after(function_);
  std::int64_t result =
      clips_ && !after ? clamp_between(value, low_, high_) : clamp_between(value, INT64_MIN, INT64_MAX);
  if (function_ != Function::none) result = look_up(result);
  if (clips_ && after) result = clamp_between(result, low_, high_);
  return saturates_ ? clamp_between(result, least_, most_) : result;
}

bool OutputStage::type_of_kernel(const Operation& op, KernelOutput& output) const noexcept {
  // The type of the results: what the table takes, or without one the output's.
  switch (function_) {
    case Function::none:
      if (element_ > 2) return false;
      output.element = element_;
      output.is_signed = op.ofm.is_signed;
      break;
    case Function::u8_u8:
    case Function::s8_s8:
    case Function::s8_s16:
    case Function::s8_s32:
      output.element = 1;
      output.is_signed = function_ != Function::u8_u8;
      break;
    case Function::s16_s16:
    case Function::s16_s32:
      output.element = 2;
      output.is_signed = true;
      break;
    case Function::tanh:
    case Function::sigmoid:
      return false;  // their inputs have 17 and 18 bits
  }
  const std::int64_t range = std::int64_t{1} << 8 * output.element, least = output.is_signed ? -range / 2 : 0,
                     most = least + range - 1;
  if (clips_ && low_ > high_) return false;
  output.low = clips_ ? clamp_between(low_, least, most) : least;
  output.high = clips_ ? clamp_between(high_, least, most) : most;
  output.zero_point = zero_point_;
  output.accumulator_bits = op.acc_format == 0 ? 32 : 48;
  return true;
}

bool OutputStage::of_kernel(const Operation& op, KernelOutput& output) const noexcept {
  if (!type_of_kernel(op, output)) return false;
  if (scale_.rounding == Rounding::natural) {
    output.rounding = npu::Rounding::natural;
    return true;
  }
  output.rounding = npu::Rounding::tfl;
  return scale_.rounding == Rounding::double_symmetric && scale_.double_round == 0;
}

void OutputStage::finish(std::span<std::int64_t> values) const noexcept {
  if (function_ == Function::none) return;
  for (std::int64_t& value : values) value = finished(value);
}

bool OutputStage::finish(std::span<std::byte> results) const noexcept {
  if (function_ == Function::none) return true;
  if (element_ == 1 && (function_ == Function::u8_u8 || function_ == Function::s8_s8)) {
    std::array<std::byte, 256> of{};
    for (std::size_t i = 0; i < of.size(); ++i) {
      const auto byte = static_cast<std::uint8_t>(i);
      of[i] = static_cast<std::byte>(
          finished(function_ == Function::u8_u8 ? byte : std::int64_t{static_cast<std::int8_t>(byte)}));
    }
    for (std::byte& result : results) result = of[std::to_integer<std::size_t>(result)];
    return true;
  }
  return false;
}

std::int64_t OutputStage::look_up(std::int64_t value) const noexcept {
  constexpr int kTanhBits = 8, kSigmoidBits = 9, kBits = 7;
  const auto byte = [&] { return clamp_between(value, -128, 127) + 128; };
  const auto segment = [&](int bits, std::int64_t least, int input_bits) {
    return segment_of(table_, clamp_between(value, least, (std::int64_t{1} << input_bits) - 1), bits);
  };
  switch (function_) {
    case Function::none:
      break;
    case Function::u8_u8:
      return entry_of<std::uint8_t>(table_, clamp_between(value, 0, 255));
    case Function::s8_s8:
      return entry_of<std::int8_t>(table_, byte());
    case Function::s8_s16:
      return entry_of<std::int16_t>(table_, byte());
    case Function::s8_s32:
      return entry_of<std::int32_t>(table_, byte());
    case Function::s16_s16: {
      const Segment at = segment(kBits, INT16_MIN, 15);
      return clamp_between(at.base + ((at.slope * at.position + half_) >> kBits), INT16_MIN, INT16_MAX);
    }
    case Function::s16_s32: {
      const Segment at = segment(kBits, INT16_MIN, 15);
      return at.base * (1 << kBits) + at.slope * at.position;
    }
    // Inputs of 17 and 18 bits: wider than what the limits allow for the output.
    case Function::tanh: {
      const Segment at = segment(kTanhBits, -(std::int64_t{1} << tanh_bits_), tanh_bits_);
      return shift_half_away(at.base * (1 << kTanhBits) + at.slope * at.position, kTanhBits);
    }
    case Function::sigmoid: {
      const Segment at = segment(kSigmoidBits, 1 - (std::int64_t{1} << sigmoid_bits_), sigmoid_bits_);
      return 16384 +
             shift_half_away(at.base * (1 << kSigmoidBits) + at.slope * at.position, kSigmoidBits + 1);
    }
  }
  return value;
}

}  // namespace runnel::npu::u85
