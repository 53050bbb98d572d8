// Block choice: the blocks of an operation and the order of its weights.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "npu/host/cycles/cycles.h"
#include "npu/operation.h"

namespace runnel::npu {

// Sets block and banks of an otherwise complete operation (weights: the kernel suffices), the format of
// accumulators and, for convolutions, the order of weights: the quickest by the cycle model. Errors:
// not_found when no block fits.
Status choose_block(Operation& op, const CycleModel& model);

// Whether rows and columns of all maps may be exchanged without changing the result: strides describe the
// maps completely, and no kernel exceeds the limits after the exchange. Micro-blocks are not square, so one
// orientation may be quicker.
bool can_exchange(const Operation& op) noexcept;
// Exchanges rows and columns of an operation; for kernels with weights by position, exchange
// these too (exchange_weights).
void exchange(Operation& op) noexcept;
// [outs][height][width][depth] to [outs][width][height][depth]; `op` is the operation as it was.
std::vector<std::int16_t> exchange_weights(const Operation& op, const std::vector<std::int16_t>& weights);

}  // namespace runnel::npu
