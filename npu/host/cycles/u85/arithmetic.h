// Arithmetic of an Ethos-U85: cycles of one operation, the transfers of its first and last block included.
#pragma once

#include <span>

#include "npu/host/cycles/u85/transfers.h"
#include "npu/operation.h"

namespace runnel::npu::u85 {

// Which part of a layer is timed.
struct Part {
  bool first = true, last = true;  // of the slices: the first one waits for its input, the last one writes
  bool dense = false;              // sparse weights take as long as others
};

// Formulas: EstimateMacOpCycles and EstimateElementwiseCycles of Regor's ethos_u85_performance.cpp. Resizing
// and copies take no time in them. Whole cycles.
double arithmetic_cycles(const Operation& first, std::span<const Operation* const> chained, const Part& part,
                         const Accelerator& accelerator, const Transfers& transfers) noexcept;

// Multiply-adds; those of sparse weights count half.
double multiply_adds(const Operation& op) noexcept;

}  // namespace runnel::npu::u85
