// Complex FFT of single precision and any size, the part that all real transforms share. Real and imaginary
// parts lie apart.
//
// Sizes whose prime factors are small are done in passes of radix 4, 2, 3, 5 (and other primes by their
// definition), in Stockham's self-sorting order, decimation in frequency: with n = radix * groups * stride,
// pass by pass (stride grows from 1)
//     to[(p * radix + k) * stride + q] = exp(-2 pi i k p / (radix * groups)) * sum_j exp(-2 pi i j k / radix)
//     from[(p + j * groups) * stride + q].
// See C. Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992, section 1.7. Sizes with a
// larger prime factor go through L. Bluestein's chirp: a convolution by transforms of a power of two.
//
// Every operation is element-wise, so vectors of any width compute the same bits. What is only read lies in
// tables (fft_tables.h), which may be in flash memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "features/fft/fft_tables.h"
#include "features/simd/kernels.h"

namespace runnel::features {

class ComplexFft {
 public:
  // n is 1 .. 2^21. tables: complex_fft_table_floats(n), work: complex_fft_work_floats(n), 64-byte aligned
  // for speed; both must outlive this. No floating-point arithmetic.
  void init(std::size_t n, const Kernels& kernels, const float* tables, float* work) noexcept;
  // Makes what fill_real_fft_tables() leaves out: with a chirp, the spectrum of its conjugate. `tables`:
  // those of init().
  void finish_tables(float* tables) noexcept;

  // Where run() expects its input: in its result's place, or in the other one.
  [[nodiscard]] bool starts_in_result() const noexcept { return !plan_.chirp && plan_.count % 2 == 0; }
  // X[k] = sum over i < n of x[i] exp(-2 pi i k i / n), from the place above into `re`, `im`. Both places
  // hold n numbers each and are overwritten.
  void run(float* re, float* im, float* other_re, float* other_im) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  void run_passes(float* re, float* im, float* other_re, float* other_im) const noexcept;

  std::size_t size_ = 0;
  const Kernels* kernels_ = nullptr;
  FftPlan plan_;
  FftPass pass_[FftPlan::kMaxPasses] = {};
  // Bluestein: exp(-pi i j^2 / n), the spectrum of its conjugate, and room for two arrays of plan_.inner
  // numbers.
  const float *chirp_ = nullptr, *filter_ = nullptr;
  float* work_ = nullptr;
};

}  // namespace runnel::features
