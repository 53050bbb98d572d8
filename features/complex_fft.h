// Complex FFT of single precision and any size, the part that all real transforms share. Real and imaginary
// parts lie apart.
//
// Sizes whose prime factors are small are done in passes of radix 4, 8, 2, 3, 5 (and other primes by their
// definition), in Stockham's self-sorting order, decimation in frequency: with n = radix * groups * stride,
// pass by pass (stride grows from 1)
//     to[(p * radix + k) * stride + q] = exp(-2 pi i k p / (radix * groups)) * sum_j exp(-2 pi i j k / radix)
//     from[(p + j * groups) * stride + q].
// See C. Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992, section 1.7. Sizes with a
// larger prime factor go through L. Bluestein's chirp: a convolution by transforms of a power of two.
//
// Every operation is element-wise, so vectors of any width compute the same bits. Twiddle factors come from
// exact_math.h and are correctly rounded for all practical purposes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "features/simd/kernels.h"

namespace runnel::features {

class ComplexFft {
 public:
  // Floats that init() lays out behind the pointer it is given, tables and workspace; n is 1 .. 2^21.
  static std::size_t floats(std::size_t n) noexcept;
  // `at`: floats(n) of them, 64-byte aligned for speed; they must outlive this.
  void init(std::size_t n, const Kernels& kernels, float* at) noexcept;

  // Where run() expects its input: in its result's place, or in the other one.
  [[nodiscard]] bool starts_in_result() const noexcept { return chirp_ == nullptr && passes_.count % 2 == 0; }
  // X[k] = sum over i < n of x[i] exp(-2 pi i k i / n), from the place above into `re`, `im`. Both places hold n
  // numbers each and are overwritten.
  void run(float* re, float* im, float* other_re, float* other_im) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr int kMaxPasses = 21;
  struct Passes {
    int count = 0;
    std::int32_t radix[kMaxPasses] = {};
    std::size_t floats = 0;
  };
  // count = 0 and floats = 0 when a prime factor is too large; n = 1 has no passes.
  static bool passes_of(std::size_t n, Passes& passes) noexcept;
  static std::size_t chirp_size(std::size_t n) noexcept;
  float* lay_out(std::size_t n, float* at) noexcept;
  void run_passes(float* re, float* im, float* other_re, float* other_im) const noexcept;

  std::size_t size_ = 0, inner_ = 0;  // inner_: size of the passes
  const Kernels* kernels_ = nullptr;
  Passes passes_;
  FftPass pass_[kMaxPasses] = {};
  // Bluestein: exp(-pi i j^2 / n), the spectrum of its conjugate, and room for two arrays of inner_ numbers.
  float *chirp_ = nullptr, *filter_ = nullptr, *work_ = nullptr;
};

}  // namespace runnel::features
