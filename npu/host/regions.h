// Regions: which bytes of each memory a command stream reads and writes.
#pragma once

#include <array>
#include <span>

#include "npu/host/segment.h"
#include "npu/operation.h"

namespace runnel::npu {

// What a run reads and writes of a region.
struct RegionUse {
  std::uint64_t bytes = 0;  // of the region
  Extent read, written;     // from the first byte to the one after the last; high 0: none
};

// Of the operations of one run. Errors: as the decoder's, and for copies over more than there are addresses.
Result<std::array<RegionUse, kRegions>> region_use(const Segment& segment);

}  // namespace runnel::npu
