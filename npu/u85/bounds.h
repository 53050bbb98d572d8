// Bounds of an Ethos-U85's operation (npu/bounds.h).
#pragma once

#include <span>

#include "npu/operation.h"

namespace runnel::npu::u85 {

// Bytes of one end of a copy that may be touched: any index may occur. Errors: invalid_data for more than
// there are addresses.
Status extent_of_end(const Operation& op, const DmaPlace& place, const CopyEnd& end, Extent& out) noexcept;

Status check_bounds(const Operation& op, std::span<const std::uint64_t> regions) noexcept;
std::uint64_t work_of(const Operation& op, const Accelerator& accelerator) noexcept;

}  // namespace runnel::npu::u85
