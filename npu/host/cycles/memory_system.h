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
  double clock_scale = 1;  // relative to the accelerator's; times the width of all ports: bytes per cycle
  int burst = 1;           // bytes
  int read_latency = 0, write_latency = 0;  // cycles
  int ports = 1;                            // that reach it
  int reads = 1, writes = 1;  // outstanding at a port, 0: not writable; only the U85's model counts them
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

// Which memory a region is in, and how fast that is. The configuration and the mode must outlive it.
class Memories {
 public:
  Memories(Product product, const SystemConfiguration& system, const MemoryMode& mode) noexcept
      : product_(product), system_(&system), mode_(&mode) {}

  // Region 0: constants, 2: cache; all others: arena.
  [[nodiscard]] MemoryArea area_of(std::uint8_t region) const noexcept;
  [[nodiscard]] const MemoryTiming& timing(MemoryArea area) const noexcept;
  [[nodiscard]] double bytes_per_cycle(MemoryArea area) const noexcept;

  [[nodiscard]] const SystemConfiguration& system() const noexcept { return *system_; }
  [[nodiscard]] const MemoryMode& mode() const noexcept { return *mode_; }

 private:
  Product product_;
  const SystemConfiguration* system_;
  const MemoryMode* mode_;
};

}  // namespace runnel::npu
