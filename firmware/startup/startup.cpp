// Start-up code, from reset to image_main() on Cortex-M: vectors, floating-point and vector unit, data,
// constructors. image_main's result is the exit status; a fault, including an unaligned access, exits with
// 99, an unexpected interrupt with 98, abort() with 97.
#include <cstddef>
#include <cstdint>

#include "firmware/startup/image.h"
#include "firmware/startup/semihosting.h"
#include "firmware/startup/traps.h"

extern "C" {
using Constructor = void (*)();
extern std::uint32_t __data_load, __data_start, __data_end, __bss_start, __bss_end;  // from the linker script
extern Constructor __init_array_start, __init_array_end;
void __stack_top();  // only an address
void reset_handler();
void systick_handler();
void report_fault(const std::uint32_t* frame);
// Pure virtual functions are never called, but their tables name this one.
void __cxa_pure_virtual();
// System functions of the C library. There is no heap, no process, and no continuing after abort().
void abort() noexcept;
void _exit(int status) noexcept;
void* _sbrk(std::ptrdiff_t) noexcept;
int _kill(int, int) noexcept;
int _getpid() noexcept;
}

namespace {

using namespace runnel::firmware;

// The processor has pushed r0 to r3, r12, lr, the address of the instruction, and flags.
[[gnu::naked]] void fault_handler() { __asm volatile("mrs r0, msp\n b report_fault"); }
void default_handler() {
  print("UNEXPECTED INTERRUPT\n");
  end(98);
}

using Handler = void (*)();
__attribute__((section(".vectors"), used)) const Handler kVectors[16] = {
    __stack_top,     reset_handler,   fault_handler,   fault_handler,   fault_handler, fault_handler,
    fault_handler,   fault_handler,   fault_handler,   fault_handler,   fault_handler, default_handler,
    default_handler, default_handler, default_handler, systick_handler,
};

}  // namespace

// Look the address up with arm-none-eabi-addr2line.
void report_fault(const std::uint32_t* frame) {
  char text[] = "FAULT AT 0x00000000, CALLED FROM 0x00000000\n";
  for (int digit = 0; digit < 8; ++digit) {
    text[18 - digit] = "0123456789ABCDEF"[frame[6] >> 4 * digit & 15];
    text[42 - digit] = "0123456789ABCDEF"[frame[5] >> 4 * digit & 15];
  }
  print(text);
  end(99);
}
void __cxa_pure_virtual() { abort(); }
void abort() noexcept {
  print("ABORT\n");
  end(97);
}
void _exit(int status) noexcept { end(static_cast<std::uint32_t>(status)); }
void* _sbrk(std::ptrdiff_t) noexcept { return reinterpret_cast<void*>(-1); }
int _kill(int, int) noexcept { return -1; }
int _getpid() noexcept { return 1; }

void reset_handler() {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  // Access to coprocessors 10 and 11 (CPACR).
  auto& access = *reinterpret_cast<volatile std::uint32_t*>(0xE000ED88);
  access = access | 0xFU << 20;
  __asm volatile("dsb\n isb" ::: "memory");
#endif
  trap_unaligned(true);
  const std::uint32_t* from = &__data_load;
  for (std::uint32_t* to = &__data_start; to < &__data_end;) *to++ = *from++;
  for (std::uint32_t* to = &__bss_start; to < &__bss_end;) *to++ = 0;
  for (Constructor* one = &__init_array_start; one < &__init_array_end; ++one) (*one)();
  end(static_cast<std::uint32_t>(image_main()));
}
