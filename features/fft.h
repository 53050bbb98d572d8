// Real FFT of single precision with the same bits on every machine.
//
// The n real points are taken as n/2 complex ones, whose FFT is done in passes of radix 4, 2, 3, 5 (and any other prime by its
// definition, which is slow but right), in Stockham's self-sorting order, decimation in frequency: with n/2 = radix * groups *
// stride, pass by pass (stride grows from 1)
//     to[(p * radix + k) * stride + q] = exp(-2 pi i k p / (radix * groups)) * sum_j exp(-2 pi i j k / radix) from[(p + j * groups) * stride + q].
// See C. Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992, section 1.7. A last step separates the spectra
// of even and odd points. Every operation is element-wise, so vectors of any width compute the same bits. Twiddle factors come from
// exact_math.h and are correctly rounded for all practical purposes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "features/simd/kernels.h"

namespace runnel::features {

// What a front end needs of a transform. Implementations are planned once and used by one thread at a time.
class RealFft {
 public:
  // X[k] = sum over i < size of in[i] exp(-2 pi i k i / size), k = 0 .. size/2, real and imaginary parts apart (size/2 + 1 each).
  // in, re and im may not overlap.
  virtual void forward(const float* in, float* re, float* im) noexcept = 0;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;

 protected:
  ~RealFft() = default;
};

// The largest supported size.
inline constexpr std::size_t kMaxFftSize = std::size_t{1} << 20;

class OwnFft final : public RealFft {
 public:
  // n: even, 2 .. kMaxFftSize. Errors: invalid_argument; out_of_memory with the bytes needed.
  Status init(std::size_t n, Isa isa, Memory& memory) noexcept;
  // Bytes that init() takes from a 64-byte aligned Memory; 0 when n is not supported.
  static std::size_t memory_bytes(std::size_t n) noexcept;

  void forward(const float* in, float* re, float* im) noexcept override;
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }

 private:
  static constexpr int kMaxPasses = 20;
  struct Shape {
    int passes = 0;
    std::int32_t radix[kMaxPasses] = {};
    std::size_t floats = 0;  // twiddles, roots, factors of the last step and workspace
  };
  static Shape shape_of(std::size_t n) noexcept;

  std::size_t size_ = 0;
  const Kernels* kernels_ = nullptr;
  int passes_ = 0;
  FftPass pass_[kMaxPasses] = {};
  const float* factors_ = nullptr;
  float* workspace_ = nullptr;
};

}  // namespace runnel::features
