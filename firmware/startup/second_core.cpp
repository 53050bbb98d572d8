#include "firmware/startup/second_core.h"

#include <cstddef>
#include <cstdint>

#include "firmware/startup/traps.h"

extern "C" {
[[gnu::noipa]] void part_begins() { __asm volatile(""); }
[[gnu::noipa]] void part_ends() { __asm volatile(""); }
[[gnu::noipa]] void job_handed() { __asm volatile(""); }
[[gnu::noipa]] void wait_begins() { __asm volatile(""); }
[[gnu::noipa]] void wait_ends() { __asm volatile(""); }
[[noreturn]] void second_core_main();
}

namespace runnel::firmware {
namespace {

// Only the first core sets it, only the second one clears it.
const runnel_job* volatile handed = nullptr;
constexpr std::size_t kStackWords = 2048;
alignas(16) std::uint32_t stack[kStackWords];

#if defined(__riscv)
// Software interrupts of the core-local interruptor end `wfi`; they are not taken, as mstatus.MIE is 0.
volatile std::uint32_t& software_interrupt(int core) noexcept {
  return reinterpret_cast<volatile std::uint32_t*>(0x02000000)[core];
}
void barrier() noexcept { __asm volatile("fence rw, rw" ::: "memory"); }
void wake(int core) noexcept { software_interrupt(core) = 1; }
void sleep(int core) noexcept {
  __asm volatile("csrsi mie, 8\n wfi" ::: "memory");  // MSIE
  software_interrupt(core) = 0;
  barrier();
}
#else
// `sev` wakes the other core; an event that came before `wfe` is not lost.
void barrier() noexcept { __asm volatile("dmb" ::: "memory"); }
void wake(int) noexcept { __asm volatile("dsb\n sev" ::: "memory"); }
void sleep(int) noexcept { __asm volatile("wfe" ::: "memory"); }

using Handler = void (*)();
void stop() {
  for (;;) sleep(1);
}
// Only its first two words change with the core: the stack, which the array's end is, and where it starts.
alignas(512) Handler vectors[16] = {};
#endif

void hand(void*, const runnel_job* job, std::uint32_t) {
  barrier();
  handed = job;
  wake(1);
  job_handed();
}
void await(void*, std::uint32_t) {
  wait_begins();
  while (handed != nullptr) sleep(0);
  barrier();
  wait_ends();
}

}  // namespace

runnel_cores two_cores() noexcept { return {2, hand, await, nullptr}; }

#if defined(__riscv)

// Where the second core, which has no stack yet, looks for one (riscv/two_cores.cpp).
extern "C" std::uint32_t* volatile second_core_stack;
std::uint32_t* volatile second_core_stack = nullptr;

void start_second_core() noexcept {
  barrier();
  second_core_stack = stack + kStackWords;
  wake(1);
}

#else

void start_second_core() noexcept {
  vectors[0] = reinterpret_cast<Handler>(stack + kStackWords);
  vectors[1] = second_core_main;
  for (int i = 2; i < 16; ++i) vectors[i] = stop;
  barrier();
  // System control of the SSE-200: where core 1 starts (INITSVTOR1), and that it may (CPUWAIT).
  *reinterpret_cast<volatile std::uint32_t*>(0x50021114) = reinterpret_cast<std::uint32_t>(&vectors);
  *reinterpret_cast<volatile std::uint32_t*>(0x50021118) = 0;
}

#endif

}  // namespace runnel::firmware

void second_core_main() {
  using namespace runnel::firmware;
  trap_unaligned(true);
  for (;;) {
    const runnel_job* const job = handed;
    if (job == nullptr) {
      sleep(1);
      continue;
    }
    barrier();
    part_begins();
    runnel_do(job, 1);
    part_ends();
    barrier();
    handed = nullptr;
    wake(0);
  }
}
