// Instruction counts in QEMU: under -icount shift=6, SysTick advances with the count of instructions, so that
// differences are the same in every run. Without -icount, and on real boards, the numbers are meaningless.
#pragma once

#include <cstdint>

namespace runnel::firmware {

void start_clock() noexcept;
// Instructions since start_clock(), to about one.
std::uint64_t instructions() noexcept;

}  // namespace runnel::firmware
