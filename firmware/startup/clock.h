// Instruction counts in QEMU, the same in every run. Cortex-M: under -icount shift=6, SysTick advances with
// the count of instructions; without -icount, and on real boards, the numbers are meaningless. RISC-V: the
// processor's own counter.
#pragma once

#include <cstdint>

namespace runnel::firmware {

void start_clock() noexcept;
// Instructions since start_clock(), to about one.
std::uint64_t instructions() noexcept;

}  // namespace runnel::firmware
