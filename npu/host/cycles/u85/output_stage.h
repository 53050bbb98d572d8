// Output stage of an Ethos-U85: cycles per element, over the operations of a chain.
#pragma once

#include <span>

#include "npu/host/cycles/u85/performance.h"
#include "npu/operation.h"

namespace runnel::npu::u85 {

// Formulas: EstimateAOCyclesPerElement of Regor's ethos_u85_performance.cpp. Steps fused with an operation
// (activation functions, transpositions, reversals) run beside it; chained operations follow each other.
double output_cycles(const Operation& first, std::span<const Operation* const> chained,
                     const Performance& performance) noexcept;

// A pooling of single positions that only applies a function or permutes: the compiler's activation and
// transposition operations.
bool only_activates(const Operation& op) noexcept;

}  // namespace runnel::npu::u85
