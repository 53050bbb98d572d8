// Real FFT of single precision, forward and inverse, of any size, with the same bits on every machine.
//
// An even number n of real points is transformed as n/2 complex ones (complex_fft.h); a last step separates
// the spectra of even and odd points. Odd sizes are transformed as complex points. Every operation is
// element-wise, so vectors of any width compute the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "features/fft/complex_fft.h"

namespace runnel::features {

// A front end's interface to a transform. Implementations are planned once and used by one thread at a time.
class RealFft {
 public:
  // X[k] = sum over i < size of in[i] exp(-2 pi i k i / size), k = 0 .. floor(size/2), real and imaginary
  // parts apart (floor(size/2) + 1 each). in, re and im may not overlap.
  virtual void forward(const float* in, float* re, float* im) noexcept = 0;
  // out[i] = 1/size * sum over all k of X[k] exp(2 pi i k i / size), X[size-k] being the conjugate of
  // X[k]: undoes forward(). The imaginary parts of X[0] and, of an even size, X[size/2] count as 0.
  // No overlap either.
  virtual void inverse(const float* re, const float* im, float* out) noexcept = 0;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;

 protected:
  ~RealFft() = default;
};

// Products of 2, 3, 4 and 5 are fast; sizes with a prime factor above 31 cost about eight times as much.
class OwnFft final : public RealFft {
 public:
  // n: 1 .. kMaxFftSize. Makes its tables in `memory`. Errors: invalid_argument; out_of_memory with
  // the bytes needed.
  Status init(std::size_t n, Isa isa, Memory& memory) noexcept;
  // With existing tables (fft_tables.h), which must outlive this, for example in flash memory.
  // No floating-point arithmetic.
  Status init(std::size_t n, const float* tables, Isa isa, Memory& memory) noexcept;
  // Completes fill_real_fft_tables() for n whose tables are not constant; `tables`: as in init().
  void finish_tables(float* tables) noexcept;
  // Bytes that init() takes from a 64-byte aligned Memory, with given tables and without; 0
  // for unsupported n.
  static constexpr std::size_t memory_bytes(std::size_t n) noexcept {
    return supported(n) ? real_fft_table_floats(n) * sizeof(float) + state_bytes(n) : 0;
  }
  static constexpr std::size_t state_bytes(std::size_t n) noexcept {
    return supported(n) ? real_fft_work_floats(n) * sizeof(float) : 0;
  }

  void forward(const float* in, float* re, float* im) noexcept override;
  // The power spectrum |X[k]|^2, k = 0 .. size/2, with the bits of forward() and Kernels::power(); scratch:
  // as many floats. False for odd sizes and without vectors, and nothing is done then. No overlap.
  bool forward_power(const float* in, float* power, float* scratch) noexcept;
  void inverse(const float* re, const float* im, float* out) noexcept override;
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }

 private:
  static constexpr bool supported(std::size_t n) noexcept { return n >= 1 && n <= kMaxFftSize; }
  void forward_odd(const float* in, float* re, float* im) noexcept;
  void inverse_odd(const float* re, const float* im, float* out) noexcept;

  std::size_t size_ = 0;
  const Kernels* kernels_ = nullptr;
  ComplexFft complex_;
  const float* factors_ = nullptr;  // even sizes: of the last step
  float *work_re_ = nullptr, *work_im_ = nullptr;
  float *other_re_ = nullptr, *other_im_ = nullptr;  // for odd sizes
};

}  // namespace runnel::features
