// Bounds of an operation before it runs: the memory it may touch, and its work.
#pragma once

#include <span>

#include "npu/operation.h"

namespace runnel::npu {

// Bytes that may be touched, or refused: of a region, or with region -1 of the accelerator's own memory.
// Errors: invalid_data naming `what`.
struct Area {
  std::uint64_t size = 0;
  int region = -1;
};
Status check_inside(std::string_view what, const Extent& extent, const Area& area) noexcept;

// Checks that everything the operation reads and writes is inside: maps, streams and copies in regions of
// these sizes (regions past the end of the list are empty), tables and internal copies in the accelerator's
// own memory, scale records for all channels. Errors: invalid_data naming what reaches where.
Status check_bounds(const Operation& op, const Accelerator& accelerator,
                    std::span<const std::uint64_t> regions) noexcept;

// Sum of multiply-adds, elements read and written, and bytes copied; saturates at UINT64_MAX.
std::uint64_t work_of(const Operation& op, const Accelerator& accelerator) noexcept;

// Output channels of one of several cores.
constexpr std::int32_t channels_of(std::int32_t channels, std::int32_t core, std::int32_t cores) noexcept {
  return (channels + cores - 1 - core) / cores;
}

inline constexpr std::int64_t kScaleRecord = 10;  // bytes

// Bytes of the lookup table for an output of this many bytes per element.
constexpr std::uint32_t table_bytes(std::uint8_t element) noexcept {
  return element == 1 ? 256 : element == 2 ? 2048 : 1024;
}

}  // namespace runnel::npu
