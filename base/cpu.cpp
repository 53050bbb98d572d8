#include "base/cpu.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#if defined(RUNNEL_RVV)
#include <sys/auxv.h>
#endif

namespace runnel {
namespace {

// Tiles are 8 KB of registers: on Linux a process must request them for all its
// threads (arch_prctl, ARCH_REQ_XCOMP_PERM).
[[maybe_unused]] bool may_use_tiles() noexcept {
#if defined(__x86_64__) && defined(__linux__)
  constexpr unsigned kTileAndInt8 = 3u << 24;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & kTileAndInt8) != kTileAndInt8)
    return false;
  constexpr long kArchPrctl = 158, kRequestPermission = 0x1023, kTileData = 18;
  long result = kArchPrctl;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(kRequestPermission), "S"(kTileData)
                   : "rcx", "r11", "memory");
  return result == 0;
#else
  return false;
#endif
}

}  // namespace

Isa best_isa() noexcept {
#if defined(RUNNEL_GENERIC_ONLY)  // there are no kernels for more (RUNNEL_VECTOR_KERNELS=OFF)
  return Isa::generic;
#else
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    if (!__builtin_cpu_supports("avx512vnni")) return Isa::avx512;
    static const bool tiles = may_use_tiles();
    return tiles ? Isa::amx : Isa::avx512vnni;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
#if defined(__aarch64__)
#if defined(__linux__)
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0)
    return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0 ? Isa::neoni8mm : Isa::neondot;
#endif
  return Isa::neon;
#elif defined(__wasm_simd128__)
  return Isa::simd128;
#elif defined(RUNNEL_RVV)
  // Linux sets the bit of the letter V for version 1.0 only (since 6.5). Some vendors' older kernels set it
  // for drafts, whose instructions are others: such machines need a build without these kernels
  // (RUNNEL_RVV=OFF).
  return (getauxval(AT_HWCAP) & (1ul << ('V' - 'A'))) != 0 ? Isa::rvv : Isa::generic;
#else
  return Isa::generic;
#endif
#endif
}

bool runs_here(Isa isa) noexcept {
  const Isa best = best_isa();
  const auto family = [](Isa level) {
    return level == Isa::rvv ? 3 : level == Isa::simd128 ? 2 : level >= Isa::neon ? 1 : 0;
  };
  return isa <= Isa::generic || (isa <= best && family(isa) == family(best));
}

std::string_view name_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::reference:
      return "reference";
    case Isa::generic:
      return "generic";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512vnni:
      return "avx512vnni";
    case Isa::amx:
      return "amx";
    case Isa::neon:
      return "neon";
    case Isa::neondot:
      return "neondot";
    case Isa::neoni8mm:
      return "neoni8mm";
    case Isa::simd128:
      return "simd128";
    case Isa::rvv:
      return "rvv";
  }
  return "unknown";
}

}  // namespace runnel
