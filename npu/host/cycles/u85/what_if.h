// What if: the layers of a stream for one Ethos-U85 on the other configurations.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "npu/host/cycles/estimate.h"

namespace runnel::npu::u85 {

struct Alternative {
  const Accelerator* accelerator = nullptr;
  bool compiled = false;  // the stream's own: an estimate of exactly what it says
  Estimate estimate;      // one operation for each layer, the same layers for all configurations
};

// For all five configurations with the same memories, the smallest first. Others than the stream's own have
// blocks of their own, the quickest of those tried; orders, formats and sizes of weights, places of maps and
// the cuts of channels stay, which a compiler would choose anew. Errors: as CycleModel::make; not_found
// naming an operation without a block; unsupported for more than 4,096 operations.
Result<std::vector<Alternative>> what_if(std::span<const Operation> operations,
                                         const Accelerator& accelerator, const SystemConfiguration& system,
                                         const MemoryMode& mode, std::span<const std::byte> constants = {});

}  // namespace runnel::npu::u85
