// Traps: faults that a processor can be configured to raise.
#pragma once

#include <cstdint>

namespace runnel::firmware {

// Makes unaligned accesses faults (UNALIGN_TRP of CCR), as start-up does. Some processors need several
// accesses for one, others cannot make it at all. Prebuilt code that makes unaligned accesses must run
// without the trap.
// RISC-V: QEMU and many processors carry such accesses out, and have no switch; code is compiled to make
// none.
inline void trap_unaligned([[maybe_unused]] bool on) noexcept {
#if defined(__arm__)
  auto& configuration = *reinterpret_cast<volatile std::uint32_t*>(0xE000ED14);
  constexpr std::uint32_t kTrap = 1U << 3;
  configuration = on ? configuration | kTrap : configuration & ~kTrap;
#endif
}

}  // namespace runnel::firmware
