// Complex FFT of single precision and any size, shared by all real transforms. Real and imaginary parts are
// in separate arrays.
//
// Sizes with small prime factors take passes of radix 4, 2, 3, 5 (and other primes by definition of the DFT),
// in Stockham's self-sorting order, decimation in frequency: with n = radix * groups * stride, pass by pass
// (stride grows from 1)
//     to[(p * radix + k) * stride + q] = exp(-2 pi i k p / (radix * groups)) * sum_j exp(-2 pi i j k / radix)
//     from[(p + j * groups) * stride + q].
// See C. Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992, section 1.7. Sizes with a
// larger prime factor use L. Bluestein's chirp: a convolution by transforms of a power of two.
//
// Every operation is element-wise, so vectors of any width compute the same bits. Read-only tables
// (fft_tables.h) may be in flash memory.
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
  // Completes fill_real_fft_tables(): with a chirp, the spectrum of its conjugate. `tables`: as in init().
  void finish_tables(float* tables) noexcept;

  // Whether run() expects its input in the result's arrays (else in the other ones).
  [[nodiscard]] bool starts_in_result() const noexcept { return !plan_.chirp && plan_.count % 2 == 0; }
  // X[k] = sum over i < n of x[i] exp(-2 pi i k i / n), from those arrays into `re`, `im`. All arrays hold n
  // numbers and are overwritten.
  void run(float* re, float* im, float* other_re, float* other_im) const noexcept;
  // The same of x[j] = pairs[2j] + i pairs[2j+1].
  void run_pairs(const float* pairs, float* re, float* im, float* other_re, float* other_im) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  // Passes `first` and later.
  void run_passes(int first, float* re, float* im, float* other_re, float* other_im) const noexcept;

  std::size_t size_ = 0;
  const Kernels* kernels_ = nullptr;
  FftPlan plan_;
  FftPass pass_[FftPlan::kMaxPasses] = {};
  // Bluestein: exp(-pi i j^2 / n), the spectrum of its conjugate, and two arrays of plan_.inner numbers.
  const float *chirp_ = nullptr, *filter_ = nullptr;
  float* work_ = nullptr;
};

}  // namespace runnel::features
