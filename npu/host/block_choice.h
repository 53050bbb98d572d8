// How the work of an operation is cut into blocks.
#pragma once

#include "base/status.h"
#include "npu/operation.h"

namespace runnel::npu {

// Sets the block and the banks of an operation of which everything else is known (of weights: the kernel), also the format of accumulators and, for
// convolutions, the order of the weights. Every choice keeps the rules of the hardware. Errors: unsupported when no block fits.
Status choose_block(Operation& op, const Accelerator& accelerator);

}  // namespace runnel::npu
