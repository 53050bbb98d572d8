// A processor that reports AVX-512 and VNNI (immintrin.h here emulates them in C++).
#include "base/cpu.h"

namespace runnel {

Isa best_isa() noexcept { return __builtin_cpu_supports("avx2") ? Isa::avx512vnni : Isa::generic; }
bool runs_here(Isa isa) noexcept { return isa <= best_isa(); }
std::string_view name_of(Isa isa) noexcept {
  constexpr std::string_view kNames[] = {"reference", "generic", "avx2", "avx512", "avx512vnni", "amx"};
  return kNames[static_cast<int>(isa)];
}

}  // namespace runnel
