// Start-up code, from reset to image_main() on RISC-V: stack, global pointer, traps, floating-point unit,
// data, constructors. image_main's result is the exit status; a trap exits with 99, abort() with 97.
#include <cstddef>
#include <cstdint>

#include "firmware/startup/image.h"
#include "firmware/startup/semihosting.h"

extern "C" {
using Constructor = void (*)();
extern std::uint32_t __data_load, __data_start, __data_end, __bss_start, __bss_end;  // from the linker script
extern Constructor __init_array_start, __init_array_end;
[[noreturn]] void start();
[[noreturn]] void report_trap(std::uintptr_t cause, std::uintptr_t address);
// Pure virtual functions are never called, but their tables name this one.
void __cxa_pure_virtual();
void abort() noexcept;
[[noreturn]] void _exit(int status) noexcept;
}

// The processor starts at the first word of memory.
__asm(
    ".section .vectors, \"ax\"\n"
    ".globl reset_handler\n"
    "reset_handler:\n"
    " la sp, __stack_top\n"
    " la t0, trap\n"
    " csrw mtvec, t0\n"
    " li t0, 0x2000\n"  // mstatus.FS: the floating-point unit, where there is one
    " csrs mstatus, t0\n"
    " j start\n"
    ".balign 4\n"
    "trap:\n"
    " csrr a0, mcause\n"
    " csrr a1, mepc\n"
    " j report_trap\n"
    ".text\n");

using namespace runnel::firmware;

// Look the address up with riscv64-unknown-elf-addr2line.
void report_trap(std::uintptr_t cause, std::uintptr_t address) {
  char text[] = "TRAP 0x00 AT 0x00000000\n";
  for (int digit = 0; digit < 8; ++digit) text[22 - digit] = "0123456789ABCDEF"[address >> 4 * digit & 15];
  for (int digit = 0; digit < 2; ++digit) text[8 - digit] = "0123456789ABCDEF"[cause >> 4 * digit & 15];
  print(text);
  end(99);
}
void __cxa_pure_virtual() { abort(); }
void abort() noexcept {
  print("ABORT\n");
  end(97);
}
void _exit(int status) noexcept { end(static_cast<std::uint32_t>(status)); }

void start() {
  const std::uint32_t* from = &__data_load;
  for (std::uint32_t* to = &__data_start; to < &__data_end;) *to++ = *from++;
  for (std::uint32_t* to = &__bss_start; to < &__bss_end;) *to++ = 0;
  for (Constructor* one = &__init_array_start; one < &__init_array_end; ++one) (*one)();
  end(static_cast<std::uint32_t>(image_main()));
}
