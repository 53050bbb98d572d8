// An element-wise operation of an NPU on two maps, on the integer kernels of this processor, where these
// compute exactly the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/cpu.h"
#include "kernels/elementwise/affine.h"
#include "npu/host/simulator/feature_map.h"
#include "npu/host/simulator/kernel_convolution.h"
#include "npu/operation.h"

namespace runnel::npu {

class KernelPairs {
 public:
  // `spec`: operation, left shift and multipliers; the rest follows from the maps of `op` and from `output`.
  // Null where the kernels have no vectors for it: maps that are not signed, of 8 or 16 bits, of one width
  // and in memory; a repeated operand that is not the end of the other one's axes; numbers beyond 32 bits.
  static std::unique_ptr<KernelPairs> make(const Operation& op, kernels::AffinePairSpec spec,
                                           const KernelOutput& output, Isa isa);
  // multiplier / 2^shift of a value that is shifted to the left by `room` first.
  static kernels::Multiplier multiplier_of(const Scale& scale, int room) noexcept;

  // Reads the operands from their regions, the second one only where it is in memory.
  void run(std::span<const std::byte> first, std::span<const std::byte> second);
  [[nodiscard]] std::span<std::byte> results() noexcept { return results_; }

 private:
  KernelPairs() = default;

  kernels::AffinePairSpec spec_;
  kernels::AffinePairs kernel_ = nullptr;
  FeatureMap first_map_, second_map_;
  bool scalar_ = false;
  std::vector<std::byte> first_, second_, results_;
};

// Of an operation: made once, null for plain loops.
struct OnPairs {
  bool made = false;
  std::unique_ptr<KernelPairs> pairs;
};

}  // namespace runnel::npu
