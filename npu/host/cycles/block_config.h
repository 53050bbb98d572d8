// Block configuration: the ways to cut an operation into blocks that an Ethos-U55 or U65 accepts, and the
// quickest by the cycle model.
#pragma once

#include <vector>

#include "npu/host/cycles/cycles.h"
#include "npu/validate.h"

namespace runnel::npu {

// The block of the output and the buffers in the accelerator's own memory (banks of 1 KiB), as in
// an operation's registers.
struct BlockConfig {
  Block block;
  std::int32_t ib_end = 0, ab_start = 0, ifm2_ib_start = 0;
};

// Sets the block of an operation.
void set_block(Operation& op, const BlockConfig& config) noexcept;

// The layout for the operation's block, if the accelerator accepts it: multiples of micro-blocks, at most 32
// x 64 x 128, disjoint buffers. Uses the same fields of the operation as CycleModel::cycles. Errors:
// invalid_argument naming what does not fit; unsupported for the U85.
Result<BlockConfig> layout_of(const Operation& op, const Accelerator& accelerator) noexcept;

// All accepted blocks no larger than the output, with depths a multiple of 16 where they cut channels.
std::vector<BlockConfig> legal_blocks(const Operation& op, const Accelerator& accelerator);

// The quickest block; among equals the one that moves fewer bytes, then the larger one. Errors: not_found
// where none fits.
Result<BlockConfig> best_block(const Operation& op, const CycleModel& model);

// The choice of Arm's compiler, which counts fetched bytes and not cycles. Errors: as best_block.
Result<BlockConfig> compilers_block(const Operation& op, const Accelerator& accelerator);

// Whether Arm's compiler orders the weights of a convolution by parts of the kernel (else by depth), judged
// by the share of busy multipliers.
bool prefers_part_kernel(const Operation& op) noexcept;

}  // namespace runnel::npu
