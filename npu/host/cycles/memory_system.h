// Memory system: the memories of an Ethos-U and their contents, which time estimates depend on
// besides the accelerator.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "npu/accelerator.h"

namespace runnel::npu {

enum class MemoryArea : std::uint8_t { sram, dram, on_chip_flash, off_chip_flash, internal };
inline constexpr int kMemoryAreas = 4;  // outside the accelerator

struct MemoryTiming {
  double clock_scale = 1;  // relative to the accelerator's; times the port width: bytes per cycle
  int burst = 1;           // bytes
  int read_latency = 0, write_latency = 0;  // cycles
};

struct SystemConfiguration {
  std::string_view name;  // "Ethos_U55_High_End_Embedded"
  double clock;           // of the accelerator, Hz
  MemoryTiming sram;
  MemoryArea second;  // on the other port
  MemoryTiming other;
};

struct MemoryMode {
  std::string_view name;                  // "Shared_Sram"
  bool constants_outside, arena_outside;  // in the second memory; the cache (region 2) is always in SRAM
  std::int64_t cache;                     // bytes of SRAM for the accelerator alone; 0: all
};

// Errors: not_found listing the known names.
Result<const SystemConfiguration*> find_system(std::string_view name);
Result<const MemoryMode*> find_memory_mode(std::string_view name);
// What compilers assume by default.
const SystemConfiguration& default_system(Product product) noexcept;
const MemoryMode& default_memory_mode(Product product) noexcept;

}  // namespace runnel::npu
