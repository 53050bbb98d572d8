// Blocks of the Ethos-U85: which micro-blocks compute an operation, and the memory that a block takes.
#pragma once

#include <cstdint>

#include "npu/operation.h"
#include "npu/u85/configuration.h"

namespace runnel::npu::u85 {

inline constexpr std::int32_t kMaxBlock = 128, kMaxBlockDepth = 1024, kBrick = 16;

// Whether it slides a window over its input: pooling of nothing has none.
bool has_window(const Operation& op) noexcept;
// Whether all channels of the input are summed into each of the output.
bool sums_channels(const Operation& op) noexcept;
// Bit n: micro-block n may be used for the operation.
unsigned usable_microblocks(const Operation& op, const Accelerator& accelerator) noexcept;
// Channels of the input that a block reads at a time, from the operation's micro-block, block and weights.
std::int32_t input_depth(const Operation& op, const Accelerator& accelerator) noexcept;
// Bytes of one block of the input, as far as there is input.
std::int64_t input_bytes(const Operation& op, const Accelerator& accelerator) noexcept;
// Bytes of one block of accumulators; those of 48 bits take 64.
std::int64_t accumulator_bytes(const Operation& op) noexcept;
// Bricks of 16 elements of the input that the buffer of a chain holds, which broadcasts and resizing use.
std::int64_t chaining_bricks(const Accelerator& accelerator, std::int32_t element) noexcept;
// Columns of a block of resizing; 0: the operation does not move over its input.
std::int64_t most_resized_columns(const Operation& op, const Accelerator& accelerator) noexcept;

}  // namespace runnel::npu::u85
