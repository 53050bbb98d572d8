// How an operation is done: which way its rows and columns lie, in which blocks, where from its weights are
// read, and in how many parts they come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "npu/host/cycles/cycles.h"
#include "npu/operation.h"

namespace runnel::npu {

struct StepPlan {
  Operation op;  // with block, banks and order of weights; rows and columns exchanged where that is quicker
  bool exchanged = false;
  bool copied = false;               // weights and scales are copied into the memory on the chip first
  std::vector<std::int32_t> slices;  // output channels of each operation that it becomes; one: it stays whole
};

// The quickest by the model of cycles after `previous`, the operations that are computed before it;
// among equals the one that reads least from the second memory. `weight_bytes` is about what the weights
// take. Errors: not_found when no block fits.
Result<StepPlan> plan_step(const Operation& op, std::span<const Operation> previous, double weight_bytes,
                           const CycleModel& model);

// The operation for channels [first, first + count) of the output.
Operation slice_of(const Operation& op, std::int32_t first, std::int32_t count) noexcept;

// About the bytes that weights take when they are coded: by how often each value is there.
double expected_bytes(std::span<const std::int16_t> weights);

}  // namespace runnel::npu
