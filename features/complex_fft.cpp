#include "features/complex_fft.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "features/exact_math.h"

namespace runnel::features {
namespace {

// A prime factor above this costs more by its definition than by Bluestein's three larger transforms.
constexpr std::size_t kMostDirect = 31;

// exp(-2 pi i k / of)
void exponential(std::size_t k, std::size_t of, float& cosine, float& sine) noexcept {
  const SinCos t = turn(static_cast<std::int64_t>(k), static_cast<std::int64_t>(of));
  cosine = static_cast<float>(t.cos);
  sine = static_cast<float>(-t.sin);
}

// Arrays begin at multiples of 64 bytes.
constexpr std::size_t padded(std::size_t floats) {
  return align_up(floats, 16);
}

}  // namespace

bool ComplexFft::passes_of(std::size_t n, Passes& passes) noexcept {
  passes = {};
  std::size_t rest = n;
  const auto add = [&](std::size_t radix) {
    rest /= radix;
    passes.radix[passes.count++] = static_cast<std::int32_t>(radix);
    passes.floats += padded((radix - 1) * 2 * rest) + (radix > 5 && radix != 8 ? padded(2 * radix) : 0);
  };
  // Fours first: they make the stride a multiple of the vector width soonest. An eight saves a pass where one four
  // and one two would be all.
  if (rest % 8 == 0 && rest % 16 != 0) add(8);
  while (rest % 4 == 0) add(4);
  for (std::size_t radix = 2; rest > 1; ++radix) {
    if (radix > kMostDirect) return false;
    while (rest % radix == 0) add(radix);
  }
  return true;
}

std::size_t ComplexFft::chirp_size(std::size_t n) noexcept {
  std::size_t size = 1;
  while (size < 2 * n - 1) size *= 2;
  return size;
}

std::size_t ComplexFft::floats(std::size_t n) noexcept {
  Passes passes;
  if (passes_of(n, passes)) return passes.floats;
  const std::size_t size = chirp_size(n);
  passes_of(size, passes);
  return passes.floats + 2 * padded(n) + 6 * padded(size);
}

// Twiddles and roots of the passes; returns what lies behind them.
float* ComplexFft::lay_out(std::size_t n, float* at) noexcept {
  inner_ = n;
  std::size_t groups = n, stride = 1;
  for (int i = 0; i < passes_.count; ++i) {
    const auto radix = static_cast<std::size_t>(passes_.radix[i]);
    groups /= radix;
    pass_[i] = {.radix = passes_.radix[i],
                .groups = static_cast<std::int32_t>(groups),
                .stride = static_cast<std::int32_t>(stride),
                .twiddles = at,
                .roots = nullptr};
    float* to = at;
    for (std::size_t k = 1; k < radix; ++k, to += 2 * groups) {
      for (std::size_t p = 0; p < groups; ++p) exponential(k * p, radix * groups, to[p], to[groups + p]);
    }
    at += padded((radix - 1) * 2 * groups);
    if (radix > 5 && radix != 8) {
      pass_[i].roots = at;
      for (std::size_t j = 0; j < radix; ++j) exponential(j, radix, at[2 * j], at[2 * j + 1]);
      at += padded(2 * radix);
    }
    stride *= radix;
  }
  return at;
}

void ComplexFft::init(std::size_t n, const Kernels& kernels, float* at) noexcept {
  size_ = n;
  kernels_ = &kernels;
  chirp_ = filter_ = work_ = nullptr;
  if (passes_of(n, passes_)) {
    lay_out(n, at);
    return;
  }
  const std::size_t size = chirp_size(n), wide = padded(size);
  passes_of(size, passes_);
  at = lay_out(size, at);
  chirp_ = std::exchange(at, at + 2 * padded(n));
  filter_ = std::exchange(at, at + 2 * wide);
  work_ = at;
  float *re = filter_, *im = filter_ + wide, *other_re = work_, *other_im = work_ + wide;
  float* from_re = passes_.count % 2 == 0 ? re : other_re;
  float* from_im = passes_.count % 2 == 0 ? im : other_im;
  std::fill_n(from_re, size, 0.0F);
  std::fill_n(from_im, size, 0.0F);
  // The filter carries the factor of the inverse transform; a power of two, so nothing is rounded.
  const float factor = 1.0F / static_cast<float>(size);
  for (std::size_t j = 0; j < n; ++j) {
    float cosine = 0, sine = 0;
    const auto square = static_cast<std::uint64_t>(j) * j;
    exponential(static_cast<std::size_t>(square % (2 * n)), 2 * n, cosine, sine);
    chirp_[j] = cosine;
    chirp_[padded(n) + j] = sine;
    for (const std::size_t place : {j, (size - j) % size}) {
      from_re[place] = cosine * factor;
      from_im[place] = -sine * factor;
    }
  }
  run_passes(re, im, other_re, other_im);
}

void ComplexFft::run_passes(float* re, float* im, float* other_re, float* other_im) const noexcept {
  bool in_result = passes_.count % 2 == 0;
  for (int i = 0; i < passes_.count; ++i, in_result = !in_result) {
    if (in_result) kernels_->fft_pass(pass_[i], re, im, other_re, other_im);
    else kernels_->fft_pass(pass_[i], other_re, other_im, re, im);
  }
}

void ComplexFft::run(float* re, float* im, float* other_re, float* other_im) const noexcept {
  if (chirp_ == nullptr) return run_passes(re, im, other_re, other_im);
  const std::size_t wide = padded(inner_);
  float *a_re = work_, *a_im = work_ + wide, *b_re = work_ + 2 * wide, *b_im = work_ + 3 * wide;
  const bool in_a = passes_.count % 2 == 0;
  float *from_re = in_a ? a_re : b_re, *from_im = in_a ? a_im : b_im;
  const float *chirp_re = chirp_, *chirp_im = chirp_ + padded(size_);
  kernels_->multiply(other_re, other_im, chirp_re, chirp_im, size_, from_re, from_im);
  std::fill(from_re + size_, from_re + inner_, 0.0F);
  std::fill(from_im + size_, from_im + inner_, 0.0F);
  run_passes(a_re, a_im, b_re, b_im);
  // The inverse transform is the forward one with real and imaginary parts exchanged, before and behind it.
  kernels_->multiply(a_re, a_im, filter_, filter_ + wide, inner_, from_re, from_im);
  run_passes(a_im, a_re, b_im, b_re);
  kernels_->multiply(a_re, a_im, chirp_re, chirp_im, size_, re, im);
}

}  // namespace runnel::features
