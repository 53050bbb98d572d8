#include "base/host/machine_peak.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <vector>

namespace runnel {

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
  if (!runs_here(isa) || loops <= 0) return 0;
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

namespace {

double thread_seconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least of many rounds: other programs only add to it.
template <class Body>
double least_seconds(const Body& body) {
  double least = 1;
  for (int round = 0; round < 100; ++round) {
    const double start = thread_seconds();
    body();
    least = std::min(least, thread_seconds() - start);
  }
  return least;
}

// Twelve chains of dependent multiply-adds; `data` is read from front to back.
#define RUNNEL_FLOAT_PEAK(NAME, TARGET, LANES)                                                               \
  __attribute__((target(TARGET))) void multiply_##NAME(long times) {                                         \
    typedef float V __attribute__((vector_size(LANES * 4)));                                                 \
    V s[12] = {}, a = {}, b = {};                                                                            \
    for (long i = 0; i < times; ++i) {                                                                       \
      __asm__ volatile(                                                                                      \
          "vfmadd231ps %12,%13,%0; vfmadd231ps %12,%13,%1; vfmadd231ps %12,%13,%2; vfmadd231ps %12,%13,%3; " \
          "vfmadd231ps %12,%13,%4;"                                                                          \
          "vfmadd231ps %12,%13,%5; vfmadd231ps %12,%13,%6; vfmadd231ps %12,%13,%7; vfmadd231ps %12,%13,%8; " \
          "vfmadd231ps %12,%13,%9;"                                                                          \
          "vfmadd231ps %12,%13,%10; vfmadd231ps %12,%13,%11"                                                 \
          : "+v"(s[0]), "+v"(s[1]), "+v"(s[2]), "+v"(s[3]), "+v"(s[4]), "+v"(s[5]), "+v"(s[6]), "+v"(s[7]),  \
            "+v"(s[8]), "+v"(s[9]), "+v"(s[10]), "+v"(s[11])                                                 \
          : "v"(a), "v"(b));                                                                                 \
    }                                                                                                        \
  }                                                                                                          \
  __attribute__((target(TARGET))) void read_##NAME(const float* data, std::size_t count) {                   \
    typedef float V __attribute__((vector_size(LANES * 4)));                                                 \
    for (std::size_t i = 0; i + 4 * LANES <= count; i += 4 * LANES) {                                        \
      V v[4];                                                                                                \
      std::memcpy(v, data + i, sizeof v);                                                                    \
      __asm__ volatile("" ::"v"(v[0]), "v"(v[1]), "v"(v[2]), "v"(v[3]));                                     \
    }                                                                                                        \
  }
RUNNEL_FLOAT_PEAK(avx2, "avx2,fma", 8)
RUNNEL_FLOAT_PEAK(avx512, "avx512f,fma", 16)
#undef RUNNEL_FLOAT_PEAK

}  // namespace

MachinePeak measure_peak() {
  if (best_isa() < Isa::avx2) return {};
  constexpr long kTimes = 4000;
  constexpr std::size_t kLine = 64, kReadBytes = std::size_t{1} << 20, kCount = kReadBytes / sizeof(float);
  const bool wide = best_isa() >= Isa::avx512;
  const std::vector<float> memory(kCount + kLine, 1.0f);
  const float* const data =
      memory.data() + (kLine - reinterpret_cast<std::uintptr_t>(memory.data()) % kLine) / sizeof(float);
  MachinePeak peak;
  const std::int64_t products = int8_peak(best_vector_isa(), kTimes);
  peak.int8_gmacs =
      static_cast<double>(products) / least_seconds([] { int8_peak(best_vector_isa(), kTimes); }) / 1e9;
  peak.float_gmacs = kTimes * 12.0 * (wide ? 16 : 8) /
                     least_seconds([&] { wide ? multiply_avx512(kTimes) : multiply_avx2(kTimes); }) / 1e9;
  peak.read_gigabytes = static_cast<double>(kReadBytes) /
                        least_seconds([&] { wide ? read_avx512(data, kCount) : read_avx2(data, kCount); }) /
                        1e9;
  return peak;
}
#else
std::int64_t int8_peak(Isa, std::int64_t) noexcept { return 0; }
MachinePeak measure_peak() { return {}; }
#endif

double MachinePeak::least_microseconds(std::int64_t macs, std::int64_t bytes, int element) const noexcept {
  const double rate = element == 1 ? int8_gmacs : element == 2 ? int8_gmacs / 2 : float_gmacs;
  if (rate <= 0 || read_gigabytes <= 0) return 0;
  return std::max(static_cast<double>(macs) / rate, static_cast<double>(bytes) / read_gigabytes) / 1e3;
}

}  // namespace runnel
