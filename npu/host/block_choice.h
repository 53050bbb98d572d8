// How the work of an operation is cut into blocks, and in which order its weights come.
#pragma once

#include "base/status.h"
#include "npu/host/cycles.h"
#include "npu/operation.h"

namespace runnel::npu {

// Sets the block and the banks of an operation of which everything else is known (of weights: the kernel), also the format of accumulators and, for
// convolutions, the order of the weights: the quickest by the model of cycles. Errors: not_found when no block fits.
Status choose_block(Operation& op, const CycleModel& model);

}  // namespace runnel::npu
