// Layer: the operations of a stream that Arm's compiler scheduled as one. They are a convolution whose
// channels were split because its weights arrive in parts, or a chain whose operations pass values on inside
// the accelerator, or a single operation.
#pragma once

#include <span>
#include <vector>

#include "npu/host/cycles/u85/transfers.h"
#include "npu/operation.h"

namespace runnel::npu::u85 {

// Taps of a kernel along an axis that are computed together.
inline constexpr std::int32_t kMaxSubKernel = 8;

using Operations = std::vector<const Operation*>;

// Points to operations that must outlive it.
struct Layer {
  Operation first;     // with the channels of all slices
  Operations slices;   // of the first operation; at least one
  Operations chained;  // after it in the chain
};
Layer layer_of(const Operation& operation);

// The layers of a run, in order. The operations must outlive it and its layers.
class LayerReader {
 public:
  explicit LayerReader(std::span<const Operation> operations) noexcept : operations_(operations) {}

  // False after the last one.
  bool next(Layer& out);

 private:
  [[nodiscard]] std::size_t computing(std::size_t at) const noexcept;
  Layer find(std::size_t at);

  std::span<const Operation> operations_;
  std::size_t at_ = 0;
};

// The unit that computes an operation: decides the formula of its cycles.
enum class Unit : std::uint8_t {
  convolution,
  depthwise,
  product,
  pooling,
  reduce_sum,
  elementwise,
  resize,
  copy
};
Unit unit_of(const Operation& op) noexcept;
// Whether output channel c reads input channel c only.
bool depth_by_depth(Unit unit) noexcept;

// Operands and result as the compiler sees them: constants outside maps are tensors in memory, too, and the
// values between two operations of a chain have a place, although nothing is ever stored there.
bool has_second_input(const Operation& op) noexcept;
TransferMap first_input(const Operation& op, const Memories& memories) noexcept;
TransferMap second_input(const Operation& op, const Memories& memories) noexcept;
TransferMap output(const Operation& op, const Memories& memories) noexcept;

Block output_block(const Operation& op) noexcept;
// What an output block reads: at most 8 x 8 taps of a large kernel at a time, in whole allocation units.
Block input_block_shape(const Operation& op, const Accelerator& accelerator) noexcept;

}  // namespace runnel::npu::u85
