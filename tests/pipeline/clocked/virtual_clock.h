// Time that a test program makes itself: the virtual card moves it on, and alsa-lib, the card and runnel all
// read it, because the program's clock_gettime() overrides that of the C library.
#pragma once

#include <atomic>
#include <cstdint>

namespace runnel::pipeline::test {

struct VirtualClock {
  std::atomic<bool> on{false};
  std::atomic<std::int64_t> nanoseconds{0};
  std::atomic<std::int64_t> card_started{-1};  // when sample 0 was captured
  std::atomic<std::int64_t> card_returns{-1};  // an unplugged card can be opened again from then on
  std::atomic<bool> stalled{false}, suspended{false}, unplugged{false};  // happened already
};

}  // namespace runnel::pipeline::test

// The one of the program; the card looks it up by this name.
extern "C" runnel::pipeline::test::VirtualClock runnel_virtual_clock;
