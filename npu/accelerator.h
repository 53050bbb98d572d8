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

// "ethos-u55-128", ... Errors: not_found listing the known names.
Result<const Accelerator*> find_accelerator(std::string_view name) noexcept;
// By the configuration word of a driver payload. Errors: unsupported naming the word.
Result<const Accelerator*> find_accelerator(std::uint32_t config) noexcept;

}  // namespace runnel::npu
