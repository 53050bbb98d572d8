// Memory access of a layer: bytes over each channel of each memory, and the cycles that these take.
#pragma once

#include <array>

#include "npu/host/cycles/estimate.h"
#include "npu/host/cycles/u85/layer.h"

namespace runnel::npu::u85 {

// Encoded weights of a layer, in bytes.
struct EncodedWeights {
  double weights = 0, scales = 0;
  double ahead = 0;       // of both, that arrive before the layer begins
  bool buffered = false;  // copied from the constants' memory first
};

struct MemoryAccess {
  std::array<double, kMemoryAreas> cycles{};
  std::array<Traffic, kMemoryAreas> traffic{};
};

// Formulas: MeasureElementAccess, ElementTransferToBytes and MeasureAccessCycles of Regor's
// ethos_u85_performance.cpp. Of an operation in a chain the compiler counts one map only, the first that is
// outside the chain.
MemoryAccess memory_access(const Layer& layer, const EncodedWeights& weights, const Accelerator& accelerator,
                           const Transfers& transfers) noexcept;

}  // namespace runnel::npu::u85
