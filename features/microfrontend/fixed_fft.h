// Fixed-point FFT: 16-bit integers with 16-bit results, for machines without floating point.
//
// The n real samples are transformed as n/2 complex ones. Passes of radix 4 (after one of radix 2 where n/2
// is not a power of 4), decimation in time. Every pass divides its operands by its radix, and the separation
// of even and odd samples by 2, so that nothing overflows: the result is X[k] / n, rounded in every pass.
// Products have 15 fractional bits, factors are multiples of 1/32767. This is the arithmetic of KissFFT with
// 16-bit integers (M. Borgerding), to the bit, in Stockham's self-sorting order. Complex numbers are pairs,
// real part first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "features/microfrontend/fixed_fft_factors.h"
#include "features/simd/fixed_kernels.h"

namespace runnel::features {

class FixedFft {
 public:
  static constexpr std::size_t kMin = 8, kMax = 32768;

  // n: a power of two, kMin .. kMax. `factors`: from fill_fft_factors(), e.g. in flash memory, must outlive
  // the transform; nullptr: computed here. Errors: invalid_argument; out_of_memory with the bytes needed.
  Status init(std::size_t n, const std::int16_t* factors, Isa isa, Memory& memory) noexcept;
  // Bytes that init() takes, with given factors and without.
  static constexpr std::size_t work_bytes(std::size_t n) noexcept { return n * sizeof(std::int16_t); }
  static constexpr std::size_t memory_bytes(std::size_t n) noexcept {
    return work_bytes(n) + fixed::fft_factor_halves(n) * sizeof(std::int16_t);
  }

  // out: n/2 + 1 pairs. `in` has n samples and may not overlap them.
  void forward(const std::int16_t* in, std::int16_t* out) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::size_t size_ = 0;
  const FixedKernels* kernels_ = nullptr;
  std::int16_t* work_ = nullptr;           // [n/2] pairs
  const std::int16_t* factors_ = nullptr;  // of the passes, then of the last step
};

}  // namespace runnel::features
