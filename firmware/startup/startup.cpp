// From reset to image_main() on Cortex-M: vectors, floating-point and vector unit, data, constructors, and its result as the status
// of the program. A fault ends it with 99, an interrupt that nobody expects with 98, abort()
// with 97.
#include <cstddef>
#include <cstdint>

#include "firmware/startup/image.h"
#include "firmware/startup/semihosting.h"

extern "C" {
using Constructor = void (*)();
extern std::uint32_t __data_load, __data_start, __data_end, __bss_start, __bss_end;   // from the linker script
extern Constructor __init_array_start, __init_array_end;
void __stack_top();   // an address only
void reset_handler();
void systick_handler();
// Pure virtual functions are never called; their tables name this one all the same.
void __cxa_pure_virtual();
// What the C library asks of a system. There is no heap, no process, and no way to go on after abort().
void abort() noexcept;
void _exit(int status) noexcept;
void* _sbrk(std::ptrdiff_t) noexcept;
int _kill(int, int) noexcept;
int _getpid() noexcept;
}

namespace {

using namespace runnel::firmware;

void fault_handler() {
  print("FAULT\n");
  end(99);
}
void default_handler() {
  print("UNEXPECTED INTERRUPT\n");
  end(98);
}

using Handler = void (*)();
__attribute__((section(".vectors"), used)) const Handler kVectors[16] = {
    __stack_top,   reset_handler, fault_handler, fault_handler, fault_handler,   fault_handler,   fault_handler,   fault_handler,
    fault_handler, fault_handler, fault_handler, default_handler, default_handler, default_handler, default_handler, systick_handler,
};

}  // namespace

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
  const std::uint32_t* from = &__data_load;
  for (std::uint32_t* to = &__data_start; to < &__data_end;) *to++ = *from++;
  for (std::uint32_t* to = &__bss_start; to < &__bss_end;) *to++ = 0;
  for (Constructor* one = &__init_array_start; one < &__init_array_end; ++one) (*one)();
  end(static_cast<std::uint32_t>(image_main()));
}
