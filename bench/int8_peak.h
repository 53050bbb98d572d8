// The machine's int8 multiply-add limit: independent sums in registers, nothing loaded or stored.
#pragma once

#include <cstdint>

#include "base/cpu.h"

namespace runnel::bench {

// Runs `loops` rounds of the fastest exact int8 multiply-add sequence of `isa` (avx2, avx512, avx512vnni or
// amx) for non-negative inputs and returns the number of multiply-adds; 0 if this build lacks the level.
std::int64_t int8_peak(Isa isa, std::int64_t loops) noexcept;

// The machine's best level with multiply-adds in vectors.
inline Isa best_vector_isa() noexcept { return best_isa() < Isa::avx512vnni ? best_isa() : Isa::avx512vnni; }

}  // namespace runnel::bench
