// Configurations of the Ethos-U85: weight decoders, micro-blocks, and the memories of a block.
#pragma once

#include <cstdint>

#include "npu/accelerator.h"

namespace runnel::npu::u85 {

// The U85's counterpart of one micro-block and SHRAM.
struct Blocks {
  std::int32_t macs;
  std::int32_t decoders;  // streams of weights that are decoded in parallel
  std::int32_t ifm_bytes, accumulator_bytes, chaining_bytes, output_bytes;  // memories
  std::int32_t sram_ports, external_ports;
  // Channels of each micro-block, by its number in an operation: 1 x 1, 1 x 2, 1 x 4, 2 x 2, 2 x 4, 4 x 4
  // (height x width); 0: not available.
  std::int32_t depths[6];
};
struct MicroBlock {
  std::int32_t height = 0, width = 0, depth = 0;  // 0: no micro-block of that number
};
const Blocks& blocks_of(const Accelerator& accelerator) noexcept;
MicroBlock microblock(const Accelerator& accelerator, std::uint8_t number) noexcept;
// Allocation unit of the input's memory for an operation with that micro-block whose blocks read `depth`
// channels: deep units are small. Depth in channels.
MicroBlock input_unit(const Accelerator& accelerator, std::uint8_t number, std::int32_t depth,
                      std::int32_t element) noexcept;

}  // namespace runnel::npu::u85
