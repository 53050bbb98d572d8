// What an operation may touch, and how much work it is: known before it runs.
#pragma once

#include <span>

#include "npu/operation.h"

namespace runnel::npu {

// Everything that the operation reads and writes lies inside: maps, streams and copies in regions of these
// sizes (a region after the end of the list has no bytes), tables and internal copies in the accelerator's
// own memory, scale records for all channels. Errors: invalid_data naming what reaches where. U85: its own
// memory is not known; maps and streams only.
Status check_bounds(const Operation& op, const Accelerator& accelerator,
                    std::span<const std::uint64_t> regions) noexcept;

// Multiply-adds, elements read and written, and bytes copied, together; UINT64_MAX when that is no number of
// 64 bits.
std::uint64_t work_of(const Operation& op) noexcept;

// Output channels of one of several cores.
constexpr std::int32_t channels_of(std::int32_t channels, std::int32_t core, std::int32_t cores) noexcept {
  return (channels + cores - 1 - core) / cores;
}

inline constexpr std::int64_t kScaleRecord = 10;  // bytes

// Bytes of the table that an output of this many bytes per element looks into.
constexpr std::uint32_t table_bytes(std::uint8_t element) noexcept {
  return element == 1 ? 256 : element == 2 ? 2048 : 1024;
}

}  // namespace runnel::npu
