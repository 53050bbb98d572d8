// How an operation is cut into blocks: which cuts an Ethos-U55 or U65 takes, and which of them is quickest by
// the model of cycles.
#pragma once

#include <vector>

#include "npu/host/cycles/cycles.h"
#include "npu/validate.h"

namespace runnel::npu {

// A cut of the output, and where buffers lie in the accelerator's own memory (banks of 1 KiB): what the
// registers of an operation say about it.
struct BlockConfig {
  Block block;
  std::int32_t ib_end = 0, ab_start = 0, ifm2_ib_start = 0;
};

// Puts a cut into an operation.
void set_block(Operation& op, const BlockConfig& config) noexcept;

// The layout for the block that the operation has, if that is one the accelerator takes: multiples of
// micro-blocks, at most 32 x 64 x 128, buffers side by side. Of the operation everything counts that
// CycleModel::cycles uses. Errors: invalid_argument saying what does not fit; unsupported for the U85.
Result<BlockConfig> layout_of(const Operation& op, const Accelerator& accelerator) noexcept;

// All of them that are not larger than the output, with depths a multiple of 16 where they cut channels.
std::vector<BlockConfig> legal_blocks(const Operation& op, const Accelerator& accelerator);

// The one with which the operation takes the least time; among equals the one that moves fewer bytes, then
// the larger one. Errors: not_found where none fits.
Result<BlockConfig> best_block(const Operation& op, const CycleModel& model);

// The one that Arm's compiler takes, which counts bytes fetched and not cycles. Errors: as best_block.
Result<BlockConfig> compilers_block(const Operation& op, const Accelerator& accelerator);

// Whether Arm's compiler orders the weights of a convolution by parts of the kernel (else by depth): by the
// share of multipliers that have work.
bool prefers_part_kernel(const Operation& op) noexcept;

}  // namespace runnel::npu
