#include "bench/int8_peak.h"

namespace runnel::bench {

#if defined(__x86_64__)
// Twelve sums (registers 0 to 11) hide the latency of every sequence; 12 and 13 are the operands, 14
// the intermediate product.
#define RUNNEL_TWELVE(step) \
  step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) step(11)
#define RUNNEL_LOOP(step)                                                                              \
  asm volatile("1:\n" RUNNEL_TWELVE(step) RUNNEL_TWELVE(step) "dec %0\n jnz 1b\n"                      \
               : "+r"(loops)                                                                           \
               :                                                                                       \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14")
#define RUNNEL_STEP_AVX2(n)                \
  "vpmaddubsw %%ymm12, %%ymm13, %%ymm14\n" \
  "vpmaddwd %%ymm12, %%ymm14, %%ymm14\n"   \
  "vpaddd %%ymm14, %%ymm" #n ", %%ymm" #n "\n"
#define RUNNEL_STEP_AVX512(n)              \
  "vpmaddubsw %%zmm12, %%zmm13, %%zmm14\n" \
  "vpmaddwd %%zmm12, %%zmm14, %%zmm14\n"   \
  "vpaddd %%zmm14, %%zmm" #n ", %%zmm" #n "\n"
#define RUNNEL_STEP_VNNI(n) "vpdpbusd %%zmm12, %%zmm13, %%zmm" #n "\n"

namespace {

// Four sums (tiles 0 to 3) hide the latency of a product of tiles; 4 and 5 are the operands.
std::int64_t tile_peak(std::int64_t loops) noexcept {
  struct alignas(64) {
    std::uint8_t palette = 1, rest[15] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
  } shapes;
  const std::int64_t products = loops * 4;
  asm volatile(
      "ldtilecfg %1\n"
      "1:\n"
      "tdpbssd %%tmm5, %%tmm4, %%tmm0\n tdpbssd %%tmm5, %%tmm4, %%tmm1\n tdpbssd %%tmm5, %%tmm4, %%tmm2\n "
      "tdpbssd %%tmm5, %%tmm4, %%tmm3\n"
      "dec %0\n jnz 1b\n"
      "tilerelease\n"
      : "+r"(loops)
      : "m"(shapes)
      : "cc");
  return products * 16 * 16 * 64;
}

}  // namespace

std::int64_t int8_peak(Isa isa, std::int64_t loops) noexcept {
  const std::int64_t steps = loops * 24;
  if (isa > best_isa() || loops <= 0) return 0;
  switch (isa) {
    case Isa::avx2:
      RUNNEL_LOOP(RUNNEL_STEP_AVX2);
      break;
    case Isa::avx512:
      RUNNEL_LOOP(RUNNEL_STEP_AVX512);
      break;
    case Isa::avx512vnni:
      RUNNEL_LOOP(RUNNEL_STEP_VNNI);
      break;
    case Isa::amx:
      return tile_peak(loops);
    default:
      return 0;
  }
  asm volatile("vzeroupper" ::: "memory");
  return steps * (isa == Isa::avx2 ? 32 : 64);
}
#else
std::int64_t int8_peak(Isa, std::int64_t) noexcept { return 0; }
#endif

}  // namespace runnel::bench
