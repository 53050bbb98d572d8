// Waiting for another thread.
#pragma once

#include <atomic>
#include <chrono>
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace runnel {

inline void pause_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` is no longer `old`: looks again for `look_for`, because sleeping and waking up costs
// some tens of microseconds, and then sleeps. Who changes the value must notify it.
template <class T>
void wait_for_change(const std::atomic<T>& value, T old, std::chrono::microseconds look_for) noexcept {
  const auto end = std::chrono::steady_clock::now() + look_for;
  do {
    for (int i = 0; i < 32; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      pause_processor();
    }
  } while (std::chrono::steady_clock::now() < end);
  value.wait(old, std::memory_order_acquire);
}

}  // namespace runnel
