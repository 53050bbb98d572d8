// Accelerator: the Arm Ethos-U that a command stream is made for, with its micro-blocks and memory banks.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace runnel::npu {

enum class Product : std::uint8_t { u55, u65, u85 };

// Granules, in banks of 1 KiB, that buffers in the accelerator's own memory (SHRAM) are rounded up to.
struct BankGranules {
  std::uint8_t ifm8, ifm16, elementwise8, elementwise16, ifm32, acc16, acc32, acc40;
};

struct Accelerator {
  std::string_view name;  // "ethos-u55-128"
  Product product;
  std::int32_t macs;  // multiply-adds per cycle, all cores
  std::int32_t cores;
  std::int32_t banks;  // KiB of SHRAM of one core; 0 on U85, which has none
  std::int32_t ublock_width, ublock_height, ublock_depth;  // of the output; 0 on U85, which has several
  BankGranules granules;

  [[nodiscard]] std::uint32_t shram_bytes() const noexcept {
    return static_cast<std::uint32_t>(banks) * 1024;
  }
  // Where tables begin: in the last two banks.
  [[nodiscard]] std::uint32_t table_base() const noexcept {
    return banks < 2 ? 0 : static_cast<std::uint32_t>(banks - 2) * 1024;
  }
  // Input channels multiplied in parallel.
  [[nodiscard]] static constexpr std::int32_t ifm_ublock_depth() noexcept { return 8; }
};

// The U85's counterpart of one micro-block and SHRAM.
struct U85Blocks {
  std::int32_t macs;
  std::int32_t ifm_bytes, accumulator_bytes;  // memories of two blocks each
  // Channels of each micro-block, by its number in an operation: 1 x 1, 1 x 2, 1 x 4, 2 x 2, 2 x 4, 4 x 4
  // (height x width); 0: not available.
  std::int32_t depths[6];
};
struct MicroBlock {
  std::int32_t height = 0, width = 0, depth = 0;  // 0: no micro-block of that number
};
const U85Blocks& u85_blocks(const Accelerator& accelerator) noexcept;
MicroBlock u85_microblock(const Accelerator& accelerator, std::uint8_t number) noexcept;
// Allocation unit of the input's memory for an operation with that micro-block whose blocks read `depth`
// channels: deep units are small. Depth in channels.
MicroBlock u85_input_unit(const Accelerator& accelerator, std::uint8_t number, std::int32_t depth,
                          std::int32_t element) noexcept;

// "ethos-u55-128", ... Errors: not_found listing the known names.
Result<const Accelerator*> find_accelerator(std::string_view name) noexcept;
// By the configuration word of a driver payload. Errors: unsupported naming the word.
Result<const Accelerator*> find_accelerator(std::uint32_t config) noexcept;

}  // namespace runnel::npu
