// Block choice of the Ethos-U85: micro-block, block, and order and sparsity of weights.
#pragma once

#include <functional>

#include "base/status.h"
#include "npu/operation.h"

namespace runnel::npu::u85 {

// Cycles of an operation with a block.
using BlockCost = std::function<double(const Operation& op)>;

// Sets them in an otherwise complete operation: the quickest, among equals the larger block. Buffers are
// taken twice where they fit twice, so that one is filled while the other is used. An operation whose weights
// are marked as sparse may use them so. Errors: not_found when no block fits.
Status choose_block(Operation& op, const Accelerator& accelerator, const BlockCost& cost);

}  // namespace runnel::npu::u85
