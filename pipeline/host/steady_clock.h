// The clock of steps and of waiting.
#pragma once

#include <chrono>
#include <cstdint>

namespace runnel::pipeline {

// Nanoseconds of a clock that never jumps.
inline std::int64_t steady_nanoseconds() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace runnel::pipeline
