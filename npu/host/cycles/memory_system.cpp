#include "npu/host/cycles/memory_system.h"

#include <iterator>

namespace runnel::npu {
namespace {

constexpr MemoryTiming sram(int outstanding) { return {1.0, 32, 32, 32, 1, outstanding, outstanding}; }
constexpr MemoryTiming flash(double scale) { return {scale, 128, 64, 64, 1, 2, 0}; }
constexpr MemoryTiming dram(double scale, int reads) { return {scale, 128, 500, 250, 1, reads, reads / 2}; }
// Of a U85, whose memories may have several ports.
constexpr MemoryTiming sram85(int latency, int ports) { return {1.0, 64, latency, latency, ports, 8, 8}; }
constexpr MemoryTiming flash85(int latency) { return {0.0625, 128, latency, 0, 1, 2, 0}; }
constexpr MemoryTiming dram85(double scale, int ports, int reads) {
  return {scale, 128, 500, 250, ports, reads, reads / 2};
}

constexpr SystemConfiguration kSystems[] = {
    {"Ethos_U55_Deep_Embedded", 200e6, sram(8), MemoryArea::off_chip_flash, flash(0.0625)},
    {"Ethos_U55_High_End_Embedded", 500e6, sram(4), MemoryArea::off_chip_flash, flash(0.125)},
    {"Ethos_U65_Embedded", 500e6, sram(8), MemoryArea::off_chip_flash, flash(0.0625)},
    {"Ethos_U65_Mid_End", 500e6, sram(8), MemoryArea::dram, dram(0.46875, 12)},
    {"Ethos_U65_High_End", 1e9, sram(16), MemoryArea::dram, dram(0.234375, 24)},
    {"Ethos_U65_Client_Server", 1e9, sram(16), MemoryArea::dram, dram(0.75, 24)},
    {"Ethos_U85_SYS_Flash_Low", 200e6, sram85(8, 2), MemoryArea::off_chip_flash, flash85(32)},
    {"Ethos_U85_SYS_Flash_High", 500e6, sram85(32, 2), MemoryArea::off_chip_flash, flash85(64)},
    {"Ethos_U85_SYS_DRAM_Low", 500e6, sram85(16, 2), MemoryArea::dram, dram85(0.46875, 1, 24)},
    {"Ethos_U85_SYS_DRAM_Mid", 1e9, sram85(32, 2), MemoryArea::dram, dram85(0.75, 1, 64)},
    {"Ethos_U85_SYS_DRAM_High", 1e9, sram85(32, 4), MemoryArea::dram, dram85(0.75, 2, 64)},
};
constexpr MemoryMode kModes[] = {
    {"Sram_Only", false, false, 0},
    {"Shared_Sram", true, false, 0},
    {"Dedicated_Sram", true, true, 384 * 1024},
    {"Dedicated_Sram_256KB", true, true, 256 * 1024},
    {"Dedicated_Sram_384KB", true, true, 384 * 1024},
    {"Dedicated_Sram_512KB", true, true, 512 * 1024},
};

template <class T, std::size_t n>
Result<const T*> find(const T (&known)[n], std::string_view what, std::string_view name) {
  for (const T& entry : known) {
    if (entry.name == name) return &entry;
  }
  Status status(Code::not_found);
  status << "no " << what << " \"" << name << "\"; known are ";
  for (const T& entry : known) status << (&entry == known ? "" : ", ") << entry.name;
  return status;
}

}  // namespace

Result<const SystemConfiguration*> find_system(std::string_view name) {
  return find(kSystems, "system configuration", name);
}
Result<const MemoryMode*> find_memory_mode(std::string_view name) {
  return find(kModes, "memory mode", name);
}

const SystemConfiguration& default_system(Product product) noexcept {
  return kSystems[product == Product::u55 ? 1 : product == Product::u65 ? 4 : 9];
}
const MemoryMode& default_memory_mode(Product product) noexcept {
  return kModes[product == Product::u55 ? 1 : product == Product::u65 ? 2 : 4];
}

MemoryArea Memories::area_of(std::uint8_t region) const noexcept {
  if (region == 0) {
    if (mode_->constants_outside) return system_->second;
    return product_ == Product::u85 ? MemoryArea::sram : MemoryArea::on_chip_flash;
  }
  return region != 2 && mode_->arena_outside ? system_->second : MemoryArea::sram;
}
const MemoryTiming& Memories::timing(MemoryArea area) const noexcept {
  static constexpr MemoryTiming kNone;
  if (area == MemoryArea::internal) return kNone;
  return area == system_->second ? system_->other : system_->sram;
}
double Memories::bytes_per_cycle(MemoryArea area) const noexcept {
  const MemoryTiming& memory = timing(area);
  return (product_ == Product::u55 ? 8 : 16) * memory.ports * memory.clock_scale;
}

}  // namespace runnel::npu
