// Step plan of an operation: orientation of rows and columns, blocks, source of its weights, and slices.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "npu/host/encoder/generation.h"
#include "npu/operation.h"

namespace runnel::npu {

struct StepPlan {
  Operation op;  // with block, banks and order of weights; rows and columns exchanged where that is quicker
  bool exchanged = false;
  bool copied = false;               // weights and scales are copied into on-chip memory first
  std::vector<std::int32_t> slices;  // output channels of each resulting operation; one entry: not cut
  // Cycles that it adds to those of the preceding operations, and bytes that pass the second memory.
  std::pair<double, double> cost;
};

// The quickest plan by the generation's cycle model after `previous`, the preceding operations; among equals
// the one that reads least from the second memory. `weight_bytes`: approximate size of the weights. Errors:
// not_found when no block fits.
Result<StepPlan> plan_step(const Operation& op, std::span<const Operation> previous, double weight_bytes,
                           const Generation& generation);

// The operation for channels [first, first + count) of the output.
Operation slice_of(const Operation& op, std::int32_t first, std::int32_t count) noexcept;

// Approximate size of encoded weights, from the frequency of each value.
double expected_bytes(std::span<const std::int16_t> weights);

}  // namespace runnel::npu
