// What this machine can do at best: the yardstick of a layer's time.
#pragma once

#include <cstdint>

#include "base/cpu.h"

namespace runnel {

// Runs `loops` rounds of the fastest exact int8 multiply-add sequence of `isa` (avx2, avx512, avx512vnni or
// amx) for non-negative inputs, independent sums in registers, nothing loaded or stored, and returns the
// number of multiply-adds; 0 if this build lacks the level.
std::int64_t int8_peak(Isa isa, std::int64_t loops) noexcept;

// The machine's best level with multiply-adds in vectors.
inline Isa best_vector_isa() noexcept { return best_isa() < Isa::avx512vnni ? best_isa() : Isa::avx512vnni; }

// Of one core. Measured in the vector unit: tiles of matrices (AMX) serve few layers.
struct MachinePeak {
  double int8_gmacs = 0;      // multiply-adds of int8, in billions a second
  double float_gmacs = 0;     // fused multiply-adds of float32, in billions a second
  double read_gigabytes = 0;  // a second, of memory that fits into the second-level cache

  [[nodiscard]] bool known() const noexcept { return float_gmacs > 0; }
  // The least time for so many multiply-adds or bytes, whichever takes longer, in microseconds; int16 counts
  // as half as fast as int8. `element`: bytes of an activation; 0 where the peak is unknown.
  [[nodiscard]] double least_microseconds(std::int64_t macs, std::int64_t bytes, int element) const noexcept;
};

// Takes some 20 ms. All zeros on machines other than x86-64 with AVX2.
MachinePeak measure_peak();

}  // namespace runnel
