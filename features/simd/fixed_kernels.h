// Inner loops of the fixed-point front end, one table of functions per instruction set. All tables compute
// the same bits as the plain loops in fixed_scalar.h. A separate table, so that firmware without floating
// point does not link the loops of kernels.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace runnel::features {

// One pass of the FFT (fixed_fft.h): merges `groups` transforms of every `radix * apart`th point into
// transforms `radix` times as long. Complex numbers are pairs of int16, real part first.
struct FixedPass {
  std::size_t radix, groups, apart;
  // [radix - 1][groups] pairs: 32767 exp(-2 pi i j k / (radix * groups)) for j = 1 .. radix - 1.
  const std::int16_t* factors;
};

struct FixedKernels {
  // With x[k * radix * apart + j * apart + q] as point j of group k:
  //     to[(k + i * groups) * apart + q] = sum over j of (-i)^(i j) (or (-1)^(i j)) factor[j][k]
  //     x[..] / radix.
  void (*fft_pass)(const FixedPass& pass, const std::int16_t* from, std::int16_t* to) noexcept;
  // The spectrum of 2 * count real points, count + 1 pairs, from that of their count complex pairs. factors:
  // [count / 2] pairs, 32767 exp(-pi i ((k + 1) / count + 1/2)). `to` may not overlap z.
  void (*unpack_real)(const std::int16_t* z, std::size_t count, const std::int16_t* factors,
                      std::int16_t* to) noexcept;
  // to[i] = x[i] * window[i] >> 12, shifted up by the bits free in all of them; returns that number, 0 .. 15.
  int (*window)(const std::int16_t* x, const std::int16_t* window, std::size_t count,
                std::int16_t* to) noexcept;
  // re^2 + im^2
  void (*energies)(const std::int16_t* z, std::size_t count, std::uint32_t* to) noexcept;
};

// The table for `isa`, or for the best lower level that this build contains.
const FixedKernels& fixed_kernels_for(Isa isa) noexcept;

extern const FixedKernels kFixedReference;
#if defined(__SSE2__) || defined(__wasm_simd128__)
extern const FixedKernels kFixedGeneric;
#else
inline constexpr const FixedKernels& kFixedGeneric = kFixedReference;  // one table without vectors
#endif
#ifdef __x86_64__
extern const FixedKernels kFixedAvx2, kFixedAvx512;
#endif

}  // namespace runnel::features
