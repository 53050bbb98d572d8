// The table of runnel npu estimate --what-if.
#pragma once

#include <span>
#include <string>

#include "npu/host/cycles/estimate.h"
#include "npu/host/segment.h"

namespace runnel::apps {

// "CONV", and "3" or "3 to 6": a layer of an estimate.
std::string name_of(const npu::OperationEstimate& one);
std::string place_of(const npu::OperationEstimate& one);

// Errors: unsupported for other products than the U85; as u85::what_if.
Status print_what_if(const std::string& name, const npu::Segment& segment,
                     std::span<const npu::Operation> operations, const npu::SystemConfiguration& system,
                     const npu::MemoryMode& mode, bool json);

}  // namespace runnel::apps
