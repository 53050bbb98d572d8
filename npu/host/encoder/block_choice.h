// How the work of an operation is cut into blocks, and in which order its weights come.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "npu/host/cycles/cycles.h"
#include "npu/operation.h"

namespace runnel::npu {

// Sets the block and the banks of an operation of which everything else is known (of weights: the kernel),
// also the format of accumulators and, for convolutions, the order of the weights: the quickest by the model
// of cycles. Errors: not_found when no block fits.
Status choose_block(Operation& op, const CycleModel& model);

// Whether rows and columns of all maps may change places without another result: where strides say everything
// about a map, and kernels are not larger one way than the other way. Micro-blocks are not square, so one of
// the two may be quicker.
bool can_exchange(const Operation& op) noexcept;
// The same operation with rows and columns exchanged; of kernels with weights by position, those change
// places as well (exchange_weights).
void exchange(Operation& op) noexcept;
// [outs][height][width][depth] to [outs][width][height][depth]; `op` is the operation as it was.
std::vector<std::int16_t> exchange_weights(const Operation& op, const std::vector<std::int16_t>& weights);

}  // namespace runnel::npu
