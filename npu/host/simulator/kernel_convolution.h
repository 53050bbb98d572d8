// A convolution of an NPU on the integer kernels of this processor, where these compute exactly the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/host/heap_memory.h"
#include "kernels/conv/conv.h"
#include "npu/host/weights.h"
#include "npu/operation.h"

namespace runnel::npu {

// What follows the sums: scaling by the record of the channel, rounded, zero point, limits.
struct KernelOutput {
  Rounding rounding = Rounding::tfl;
  std::int32_t zero_point = 0;
  std::int64_t low = 0, high = 0;
};

class KernelConvolution {
 public:
  // `op`: its kind, kernel, and the sizes, types and zero point of its maps are read. `weights`:
  // [out][ky][kx][in]. Null where the kernels would give other bytes or have no form: maps that are not of 8
  // bits, weights beyond 8 bits, sums beyond 32, upscaling, truncation.
  static std::unique_ptr<KernelConvolution> make(const Operation& op, std::span<const std::int16_t> weights,
                                                 std::span<const ScaleRecord> scales,
                                                 const KernelOutput& output);
  KernelConvolution(const KernelConvolution&) = delete;
  KernelConvolution& operator=(const KernelConvolution&) = delete;

  // Bytes of the input, [height][width][depth], to be set before run().
  [[nodiscard]] std::span<std::byte> input() noexcept { return {input_, input_bytes_}; }
  // Computes the elements of the output, [height][width][depth]. Not thread-safe.
  void run(std::span<std::int32_t> output) noexcept;

 private:
  KernelConvolution() = default;

  HeapMemory memory_;
  kernels::Conv conv_;
  std::byte* input_ = nullptr;
  std::size_t input_bytes_ = 0;
  std::int8_t* output_ = nullptr;
  void* scratch_ = nullptr;
  bool flip_input_ = false;        // unsigned: kernels see each element less 128
  std::int32_t raise_output_ = 0;  // 128 for unsigned ones
};

}  // namespace runnel::npu
