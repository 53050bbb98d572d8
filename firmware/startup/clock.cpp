#include "firmware/startup/clock.h"

namespace {

// SysTick counts down from kReload, then calls the handler and restarts.
volatile std::uint32_t& control() { return *reinterpret_cast<volatile std::uint32_t*>(0xE000E010); }
volatile std::uint32_t& reload() { return *reinterpret_cast<volatile std::uint32_t*>(0xE000E014); }
volatile std::uint32_t& current() { return *reinterpret_cast<volatile std::uint32_t*>(0xE000E018); }
constexpr std::uint32_t kReload = 0xFFFFFF;
constexpr std::uint64_t kNanosecondsPerInstruction = 64;

volatile std::uint32_t wraps = 0;

}  // namespace

extern "C" void systick_handler() { wraps = wraps + 1; }

namespace runnel::firmware {

void start_clock() noexcept {
  reload() = kReload;
  current() = 0;
  wraps = 0;
  control() = 7;  // the processor's clock, with interrupts
}

std::uint64_t instructions() noexcept {
  std::uint32_t before = 0, now = 0;
  do {
    before = wraps;
    now = current();
  } while (before != wraps);
  // The first value after the start is 0.
  const std::uint64_t ticks =
      static_cast<std::uint64_t>(before) * (kReload + 1) + ((kReload - now) & kReload);
  return ticks * (1'000'000'000 / kNanosecondsPerInstruction) / RUNNEL_SYSTICK_HZ;
}

}  // namespace runnel::firmware
