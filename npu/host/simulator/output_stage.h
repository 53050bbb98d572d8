// Output stage: scale, zero point, limits and activation of a result before it is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "npu/arithmetic.h"
#include "npu/host/simulator/kernel_convolution.h"

namespace runnel::npu {

// Of convolutions, at which sums wrap.
inline int accumulator_bits(const Operation& op) noexcept { return op.acc_format == 1 ? 40 : 32; }

class OutputStage {
 public:
  // `internal` is the accelerator's own memory, where tables are.
  OutputStage(const Operation& op, const Accelerator& accelerator,
              std::span<const std::byte> internal) noexcept;

  // The stored element.
  [[nodiscard]] std::int32_t operator()(Wide value) const noexcept;
  [[nodiscard]] std::int32_t operator()(Wide value, Scale scale) const noexcept {
    return (*this)(scale_and_round(value, scale, rounding_));
  }
  // What a kernel does of it, for elements of one or two bytes; finish() does the rest, in place. False where
  // a function is computed otherwise.
  [[nodiscard]] bool of_kernel(KernelOutput& output) const noexcept;
  void finish(std::span<std::byte> elements) const noexcept;

 private:
  [[nodiscard]] std::int32_t activate(Wide value) const noexcept;
  [[nodiscard]] std::int32_t look_up(std::int64_t value) const noexcept;

  const std::byte* table_ = nullptr;
  std::uint16_t function_ = Activation::kNone;
  std::int32_t zero_point_ = 0;
  std::int64_t low_ = 0, high_ = 0;
  Rounding rounding_;
  std::uint8_t element_;
  bool signed_, raw_;
  int accumulator_bits_;
};

}  // namespace runnel::npu
