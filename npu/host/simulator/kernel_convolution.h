// A convolution of an NPU on the integer kernels of this processor, where these compute exactly the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/host/heap_memory.h"
#include "kernels/conv/conv.h"
#include "npu/host/simulator/feature_map.h"
#include "npu/host/weights.h"
#include "npu/operation.h"

namespace runnel::npu {

// What follows the sums: scaling by the record of the channel, rounded, zero point, limits. The result has
// `element` bytes, 1 or 2, before a table that may follow.
struct KernelOutput {
  Rounding rounding = Rounding::tfl;
  std::int32_t zero_point = 0;
  std::int64_t low = 0, high = 0;
  std::uint8_t element = 1;
  bool is_signed = true;
  int accumulator_bits = 32;  // at which sums wrap
};

class KernelConvolution {
 public:
  // `op`: its kind, kernel, input and the sizes of its output are read. `weights`: [out][ky][kx][in]. `isa`:
  // at most. Null where kernels would give other bytes or have no form: maps beyond 16 bits or inside the
  // accelerator, sums that may wrap, upscaling, truncation; and where only plain loops would compute it.
  static std::unique_ptr<KernelConvolution> make(const Operation& op, std::span<const std::int16_t> weights,
                                                 std::span<const ScaleRecord> scales,
                                                 const KernelOutput& output, Isa isa);
  KernelConvolution(const KernelConvolution&) = delete;
  KernelConvolution& operator=(const KernelConvolution&) = delete;

  // Reads the input from its region and computes results().
  void run(std::span<const std::byte> region) noexcept;
  // The output's elements, [height][width][depth], of `output.element` bytes each.
  [[nodiscard]] std::span<std::byte> results() noexcept { return {results_, count_ * stored_.element}; }
  // The same, one value for each element.
  template <class T>
  void values(std::vector<T>& to) const;

 private:
  KernelConvolution() = default;
  void read(std::span<const std::byte> region) noexcept;
  template <class T>
  void widen() noexcept;

  HeapMemory memory_;
  kernels::Conv conv_;
  FeatureMap map_;       // the input
  KernelOutput stored_;  // only its type is used
  std::size_t count_ = 0, inputs_ = 0;
  // Kernels compute on bytes or on words of 16 bits, both signed. Unsigned elements of the same size are seen
  // less half of their range.
  bool words_ = false, flip_input_ = false, flip_output_ = false;
  std::byte *input_ = nullptr, *narrow_ = nullptr;  // narrow_: bytes before they become words
  std::byte *output_ = nullptr, *results_ = nullptr;
  void* scratch_ = nullptr;
};

// ---- inline

template <class T>
void KernelConvolution::values(std::vector<T>& to) const {
  FeatureMap row;
  row.element = stored_.element;
  row.is_signed = stored_.is_signed;
  to.resize(count_);
  load_elements(row, results_, count_, to.data());
}

}  // namespace runnel::npu
