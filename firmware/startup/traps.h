// Faults that a processor can be told to make.
#pragma once

#include <cstdint>

namespace runnel::firmware {

// Unaligned accesses are faults (UNALIGN_TRP of CCR), which start-up asks for. Some processors take several
// accesses for one, others cannot make it at all. Prebuilt code that makes them has to run without.
inline void trap_unaligned(bool on) noexcept {
  auto& configuration = *reinterpret_cast<volatile std::uint32_t*>(0xE000ED14);
  constexpr std::uint32_t kTrap = 1U << 3;
  configuration = on ? configuration | kTrap : configuration & ~kTrap;
}

}  // namespace runnel::firmware
