// Instruction levels: the vector instructions that a kernel may use.
#pragma once

#include <cstdint>
#include <string_view>

namespace runnel {

// All levels compute the same bits; they differ in speed only. Those of one processor family include each
// other in this order, and `reference` and `generic` are part of all.
enum class Isa : std::uint8_t {
  reference = 0,  // the plain loops that define the result
  generic,        // portable code written so that compilers vectorise it
  avx2,    // AVX2 and FMA (compilers must not contract; float kernels ask for it explicitly on every level)
  avx512,  // AVX-512 F, BW, VL, DQ
  avx512vnni,  // and AVX512_VNNI
  amx,         // and int8 tiles (AMX-INT8), which the operating system must permit for the process
  neon,        // AArch64 as it is everywhere: Advanced SIMD (Cortex-A53, A72)
  neondot,     // and dot products of bytes (FEAT_DotProd: Cortex-A55, A76 and later)
  neoni8mm,    // and products of matrices of bytes (FEAT_I8MM: Cortex-A510, A710 and later)
  simd128,     // WebAssembly with 128-bit vectors
  rvv,         // 64-bit RISC-V with vectors of 128 bits or more (V 1.0), in builds that have kernels for it
};
inline constexpr Isa kLastIsa = Isa::rvv;

// The best level of this machine for which this build has kernels (detected once), never below generic.
Isa best_isa() noexcept;
// "reference", "generic", "avx2", "avx512", "avx512vnni", "amx", "neon", "neondot", "neoni8mm", "simd128",
// "rvv".
std::string_view name_of(Isa isa) noexcept;

// Whether this machine executes code of that level.
bool runs_here(Isa isa) noexcept;

// The level whose kernels run where there are none for matrices of bytes: at most avx512, or neon,
// or simd128, or rvv.
constexpr Isa vector_level(Isa isa) noexcept {
  if (isa >= Isa::simd128) return isa;
  if (isa >= Isa::neon) return Isa::neon;
  return isa < Isa::avx512 ? isa : Isa::avx512;
}

// What computes an operator, for reports.
struct KernelChoice {
  Isa isa = Isa::generic;  // of its instructions; reference: the plain loops that define the result
  const char* form = "";   // "dense", "depthwise", "table": which of several; lives as long as the program
};

}  // namespace runnel
