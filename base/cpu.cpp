#include "base/cpu.h"

namespace runnel {

Isa best_isa() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return __builtin_cpu_supports("avx512vnni") ? Isa::avx512vnni : Isa::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
  return Isa::generic;
}

std::string_view name_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::reference: return "reference";
    case Isa::generic: return "generic";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::avx512vnni: return "avx512vnni";
  }
  return "unknown";
}

}  // namespace runnel
