#include "features/fft/fft.h"

#include <algorithm>
#include <utility>

namespace runnel::features {

using fft::padded;

Status OwnFft::init(std::size_t n, const float* tables, Isa isa, Memory& memory) noexcept {
  if (!supported(n))
    return Status(Code::invalid_argument) << "FFT size " << n << ": expected 1 to " << kMaxFftSize;
  auto* at = static_cast<float*>(memory.allocate(state_bytes(n), 64));
  if (at == nullptr)
    return Status(Code::out_of_memory) << "FFT of size " << n << ": needs " << state_bytes(n) << " bytes";
  size_ = n;
  kernels_ = &kernels_for(isa);
  const std::size_t count = n % 2 == 0 ? n / 2 : n;
  work_re_ = std::exchange(at, at + padded(count));
  work_im_ = std::exchange(at, at + padded(count));
  if (n % 2 != 0) {
    other_re_ = std::exchange(at, at + padded(count));
    other_im_ = std::exchange(at, at + padded(count));
  }
  factors_ = tables;
  complex_.init(count, *kernels_, tables + real_fft_factor_floats(n), at);
  return Status();
}

void OwnFft::finish_tables(float* tables) noexcept {
  complex_.finish_tables(tables + real_fft_factor_floats(size_));
}

void OwnFft::forward(const float* in, float* re, float* im) noexcept {
  if (size_ % 2 != 0) return forward_odd(in, re, im);
  const std::size_t count = size_ / 2;
  // The passes alternate between the result's arrays and the workspace, and end in the workspace.
  complex_.run_pairs(in, work_re_, work_im_, re, im);
  kernels_->unpack_real(work_re_, work_im_, count, factors_, re, im);
}

bool OwnFft::forward_power(const float* in, float* power, float* scratch) noexcept {
  if (size_ % 2 != 0 || kernels_->unpack_power == nullptr) return false;
  complex_.run_pairs(in, work_re_, work_im_, power, scratch);
  kernels_->unpack_power(work_re_, work_im_, size_ / 2, factors_, power);
  return true;
}

void OwnFft::inverse(const float* re, const float* im, float* out) noexcept {
  if (size_ % 2 != 0) return inverse_odd(re, im, out);
  const std::size_t count = size_ / 2;
  const bool here = complex_.starts_in_result();
  kernels_->pack_real(re, im, count, factors_, here ? work_re_ : out, here ? work_im_ : out + count);
  // The inverse is the forward transform with real and imaginary parts exchanged.
  complex_.run(work_im_, work_re_, out + count, out);
  kernels_->interleave(work_re_, work_im_, count, 1.0F / static_cast<float>(count), out);
}

void OwnFft::forward_odd(const float* in, float* re, float* im) noexcept {
  const bool here = complex_.starts_in_result();
  std::copy_n(in, size_, here ? work_re_ : other_re_);
  std::fill_n(here ? work_im_ : other_im_, size_, 0.0F);
  complex_.run(work_re_, work_im_, other_re_, other_im_);
  const std::size_t bins = size_ / 2 + 1;
  std::copy_n(work_re_, bins, re);
  std::copy_n(work_im_, bins, im);
  im[0] = 0;
}

void OwnFft::inverse_odd(const float* re, const float* im, float* out) noexcept {
  const bool here = complex_.starts_in_result();
  float *to_re = here ? work_re_ : other_re_, *to_im = here ? work_im_ : other_im_;
  to_re[0] = re[0];
  to_im[0] = 0;
  for (std::size_t k = 1; k <= size_ / 2; ++k) {
    to_re[k] = to_re[size_ - k] = re[k];
    to_im[k] = im[k];
    to_im[size_ - k] = -im[k];
  }
  complex_.run(work_im_, work_re_, other_im_, other_re_);
  const float factor = 1.0F / static_cast<float>(size_);
  for (std::size_t i = 0; i < size_; ++i) out[i] = work_re_[i] * factor;
}

}  // namespace runnel::features
