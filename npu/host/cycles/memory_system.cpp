#include "npu/host/cycles/memory_system.h"

#include <iterator>

namespace runnel::npu {
namespace {

constexpr MemoryTiming kSram{1.0, 32, 32, 32};
constexpr MemoryTiming flash(double scale) { return {scale, 128, 64, 64}; }
constexpr MemoryTiming dram(double scale) { return {scale, 128, 500, 250}; }

constexpr SystemConfiguration kSystems[] = {
    {"Ethos_U55_Deep_Embedded", 200e6, kSram, MemoryArea::off_chip_flash, flash(0.0625)},
    {"Ethos_U55_High_End_Embedded", 500e6, kSram, MemoryArea::off_chip_flash, flash(0.125)},
    {"Ethos_U65_Embedded", 500e6, kSram, MemoryArea::off_chip_flash, flash(0.0625)},
    {"Ethos_U65_Mid_End", 500e6, kSram, MemoryArea::dram, dram(0.46875)},
    {"Ethos_U65_High_End", 1e9, kSram, MemoryArea::dram, dram(0.234375)},
    {"Ethos_U65_Client_Server", 1e9, kSram, MemoryArea::dram, dram(0.75)},
};
constexpr MemoryMode kModes[] = {
    {"Sram_Only", false, false, 0},
    {"Shared_Sram", true, false, 0},
    {"Dedicated_Sram", true, true, 384 * 1024},
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
  return kSystems[product == Product::u55 ? 1 : 4];
}
const MemoryMode& default_memory_mode(Product product) noexcept {
  return kModes[product == Product::u55 ? 1 : 2];
}

}  // namespace runnel::npu
