// Output stage of the Ethos-U85: scale, zero point, limits and table of a result before it is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "npu/host/simulator/kernel_convolution.h"
#include "npu/host/simulator/u85/fault.h"
#include "npu/u85/rounding.h"

namespace runnel::npu::u85 {

class OutputStage {
 public:
  // `tables`: the memory of tables, of kTableMemory bytes.
  OutputStage(const Operation& op, std::span<const std::byte> tables, Fault fault = Fault::none) noexcept;

  // The stored element of an accumulator, with the operation's scale or another one; rounding is the
  // operation's.
  [[nodiscard]] std::int64_t operator()(Wide value) const noexcept {
    return unscaled(scale_and_round(value, scale_));
  }
  [[nodiscard]] std::int64_t operator()(Wide value, npu::Scale scale) const noexcept {
    return unscaled(
        scale_and_round(value, {scale.multiplier, scale.shift, scale_.double_round, scale_.rounding}));
  }
  // What a kernel does of a convolution, for results of one or two bytes; finish() does the rest, in place.
  // False where a function is computed otherwise.
  [[nodiscard]] bool of_kernel(const Operation& op, KernelOutput& output) const noexcept;
  // The same without the rounding.
  [[nodiscard]] bool type_of_kernel(const Operation& op, KernelOutput& output) const noexcept;
  void finish(std::span<std::int64_t> values) const noexcept;
  // The same for a kernel's results as they are; false without effect where their size changes.
  [[nodiscard]] bool finish(std::span<std::byte> results) const noexcept;
  // Of a value that is scaled already.
  [[nodiscard]] std::int64_t unscaled(Wide value) const noexcept;

 private:
  [[nodiscard]] std::int64_t look_up(std::int64_t value) const noexcept;
  // Of a value within its limits.
  [[nodiscard]] std::int64_t finished(std::int64_t value) const noexcept {
    if (function_ != Function::none) value = look_up(value);
    return saturates_ ? clamp_between(value, least_, most_) : value;
  }

  const std::byte* table_;
  Scale scale_;
  Function function_;
  bool clips_, saturates_;
  std::uint8_t element_;
  std::int64_t half_;                       // that 16-bit tables add before they cut
  int tanh_bits_ = 16, sigmoid_bits_ = 17;  // of their inputs, without the sign
  std::int32_t zero_point_;
  std::int64_t low_, high_, least_ = 0, most_ = 0;
};

}  // namespace runnel::npu::u85
