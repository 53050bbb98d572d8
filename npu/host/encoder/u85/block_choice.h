// Block choice of the Ethos-U85: micro-block, block, and order and sparsity of weights.
#pragma once

#include "base/status.h"
#include "npu/host/cycles/u85/cycle_model.h"

namespace runnel::npu::u85 {

// Sets them in an otherwise complete operation: the quickest; among equals the one that moves fewer bytes,
// then the larger block. Buffers are taken twice where they fit twice, so that one is filled while the other
// is used. An operation whose weights are marked as sparse may use them so. Errors: not_found when no block
// fits.
Status choose_block(Operation& op, const CycleModel& model);

}  // namespace runnel::npu::u85
