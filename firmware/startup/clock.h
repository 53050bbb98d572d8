// Instructions counted in QEMU: its SysTick runs by the count of instructions under -icount shift=6, so that
// differences are the same in every run. Without -icount, and on real boards, the numbers mean nothing.
#pragma once

#include <cstdint>

namespace runnel::firmware {

void start_clock() noexcept;
// Instructions since start_clock(), to about one.
std::uint64_t instructions() noexcept;

}  // namespace runnel::firmware
