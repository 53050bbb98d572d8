#include "firmware/startup/clock.h"

namespace {

// The processor's own count of instructions: two words on 32 bits, read until the upper one stands still.
std::uint64_t retired() noexcept {
#if __riscv_xlen == 32
  std::uint32_t high = 0, low = 0, again = 0;
  do {
    __asm volatile("csrr %0, minstreth\n csrr %1, minstret\n csrr %2, minstreth"
                   : "=r"(high), "=r"(low), "=r"(again));
  } while (high != again);
  return std::uint64_t{high} << 32 | low;
#else
  std::uint64_t count = 0;
  __asm volatile("csrr %0, minstret" : "=r"(count));
  return count;
#endif
}
std::uint64_t started = 0;

}  // namespace

namespace runnel::firmware {

void start_clock() noexcept { started = retired(); }
std::uint64_t instructions() noexcept { return retired() - started; }

}  // namespace runnel::firmware
