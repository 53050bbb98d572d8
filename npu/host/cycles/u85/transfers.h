// Transfers of an Ethos-U85: how many bytes its bursts move, and how fast each channel moves them.
#pragma once

#include "npu/host/cycles/memory_system.h"
#include "npu/host/cycles/u85/performance.h"
#include "npu/operation.h"
#include "npu/validate.h"

namespace runnel::npu::u85 {

// A map as transfers see it.
struct TransferMap {
  Block shape;
  std::int32_t element = 1;  // bytes
  Layout layout = Layout::nhwc;
  MemoryArea memory = MemoryArea::sram;
};

double elements(const Block& block) noexcept;
Block smaller(const Block& a, const Block& b) noexcept;
// Elements in memory, where channels come in bricks of 16.
double stored(const Block& shape, Layout layout) noexcept;

// Moves data between the accelerator and its memories. Formulas: EstimateMemoryTransfer, ChannelBW and
// MemToMemCycles of Regor's ethos_u85_performance.cpp, in its single precision.
class Transfers {
 public:
  Transfers(const Accelerator& accelerator, const Memories& memories) noexcept
      : performance_(&performance_of(accelerator)), memories_(memories) {}

  // Bytes of `count` elements with the waste of bursts shorter than the memory's, for a map that is moved
  // block by block.
  [[nodiscard]] double bytes(const TransferMap& map, const Block& block, bool read,
                             double count) const noexcept;
  // Cycles of the first block of a map: latency and transfer.
  [[nodiscard]] double first_block(const TransferMap& map, const Block& block, bool read) const noexcept;
  // Bytes per cycle; > 0.
  [[nodiscard]] float rate(MemoryArea area, Channel channel) const noexcept;
  [[nodiscard]] float rate(MemoryArea area) const noexcept;  // of all channels together
  // Cycles of a copy.
  [[nodiscard]] double copy(MemoryArea from, MemoryArea to, double bytes) const noexcept;

  [[nodiscard]] const Memories& memories() const noexcept { return memories_; }

 private:
  const Performance* performance_;
  Memories memories_;
};

}  // namespace runnel::npu::u85
