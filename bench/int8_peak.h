// The machine's int8 multiply-add limit: independent sums in registers, nothing loaded or stored.
#pragma once

#include <cstdint>

#include "base/cpu.h"

namespace runnel::bench {

// Runs `loops` rounds of the fastest exact int8 multiply-add sequence of `isa` (avx2, avx512 or avx512vnni) for inputs that are
// not negative, and returns how many multiply-adds that was. 0 when there is no such level here.
std::int64_t int8_peak(Isa isa, std::int64_t loops) noexcept;

}  // namespace runnel::bench
