#include "features/fft/complex_fft.h"

#include <algorithm>

namespace runnel::features {

using fft::padded;

void ComplexFft::init(std::size_t n, const Kernels& kernels, const float* tables, float* work) noexcept {
  size_ = n;
  kernels_ = &kernels;
  plan_ = fft_plan_of(n);
  std::size_t groups = plan_.inner, stride = 1;
  for (int i = 0; i < plan_.count; ++i) {
    const auto radix = static_cast<std::size_t>(plan_.radix[i]);
    groups /= radix;
    pass_[i] = {.radix = plan_.radix[i],
                .groups = static_cast<std::int32_t>(groups),
                .stride = static_cast<std::int32_t>(stride),
                .twiddles = tables,
                .roots = nullptr};
    tables += padded((radix - 1) * 2 * groups);
    if (fft::has_roots(radix)) {
      pass_[i].roots = tables;
      tables += padded(2 * radix);
    }
    stride *= radix;
  }
  chirp_ = plan_.chirp ? tables : nullptr;
  filter_ = plan_.chirp ? tables + 2 * padded(n) : nullptr;
  work_ = work;
}

void ComplexFft::finish_tables(float* tables) noexcept {
  if (!plan_.chirp) return;
  const std::size_t size = plan_.inner, wide = padded(size);
  float* re = tables + fft::pass_floats(plan_) + 2 * padded(size_);
  float *im = re + wide, *other_re = work_, *other_im = work_ + wide;
  float* from_re = plan_.count % 2 == 0 ? re : other_re;
  float* from_im = plan_.count % 2 == 0 ? im : other_im;
  std::fill_n(from_re, size, 0.0F);
  std::fill_n(from_im, size, 0.0F);
  // The filter includes the factor of the inverse transform, a power of two, so nothing is rounded.
  const float factor = 1.0F / static_cast<float>(size);
  for (std::size_t j = 0; j < size_; ++j) {
    for (const std::size_t place : {j, (size - j) % size}) {
      from_re[place] = chirp_[j] * factor;
      from_im[place] = -chirp_[padded(size_) + j] * factor;
    }
  }
  run_passes(0, re, im, other_re, other_im);
}

void ComplexFft::run_passes(int first, float* re, float* im, float* other_re,
                            float* other_im) const noexcept {
  bool in_result = (plan_.count - first) % 2 == 0;
  for (int i = first; i < plan_.count; ++i, in_result = !in_result) {
    if (in_result)
      kernels_->fft_pass(pass_[i], re, im, other_re, other_im);
    else
      kernels_->fft_pass(pass_[i], other_re, other_im, re, im);
  }
}

void ComplexFft::run_pairs(const float* pairs, float* re, float* im, float* other_re,
                           float* other_im) const noexcept {
  const bool here = starts_in_result();
  float *from_re = here ? re : other_re, *from_im = here ? im : other_im;
  if (!plan_.chirp && plan_.count > 0 && kernels_->fft_pass_of_pairs != nullptr &&
      kernels_->fft_pass_of_pairs(pass_[0], pairs, here ? other_re : re, here ? other_im : im)) {
    return run_passes(1, re, im, other_re, other_im);
  }
  kernels_->deinterleave(pairs, size_, from_re, from_im);
  run(re, im, other_re, other_im);
}

void ComplexFft::run(float* re, float* im, float* other_re, float* other_im) const noexcept {
  if (!plan_.chirp) return run_passes(0, re, im, other_re, other_im);
  const std::size_t inner = plan_.inner, wide = padded(inner);
  float *a_re = work_, *a_im = work_ + wide, *b_re = work_ + 2 * wide, *b_im = work_ + 3 * wide;
  const bool in_a = plan_.count % 2 == 0;
  float *from_re = in_a ? a_re : b_re, *from_im = in_a ? a_im : b_im;
  const float *chirp_re = chirp_, *chirp_im = chirp_ + padded(size_);
  kernels_->multiply(other_re, other_im, chirp_re, chirp_im, size_, from_re, from_im);
  std::fill(from_re + size_, from_re + inner, 0.0F);
  std::fill(from_im + size_, from_im + inner, 0.0F);
  run_passes(0, a_re, a_im, b_re, b_im);
  // The inverse transform is the forward one with real and imaginary parts exchanged before and after it.
  kernels_->multiply(a_re, a_im, filter_, filter_ + wide, inner, from_re, from_im);
  run_passes(0, a_im, a_re, b_im, b_re);
  kernels_->multiply(a_re, a_im, chirp_re, chirp_im, size_, re, im);
}

}  // namespace runnel::features
