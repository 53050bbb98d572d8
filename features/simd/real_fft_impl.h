// Conversions between the spectra of real points and of their complex pairs, for any width. See fft.h, and
// lanes.h for how this file is compiled.
#pragma once

#include "features/simd/fft_impl.h"

namespace runnel::features {
namespace {

template <int W>
void deinterleave(const float* x, std::size_t count, float* re, float* im) noexcept {
  std::size_t j = 0;
  if constexpr (W > 1) {
    for (; j + W <= count; j += W) {
      F<W> even, odd;
      split_pairs<W>(load<W>(x + 2 * j), load<W>(x + 2 * j + W), even, odd);
      store<W>(re + j, even);
      store<W>(im + j, odd);
    }
  }
  if constexpr (W == 1) {  // four at a time: one address for all
    for (; j + 4 <= count; j += 4) {
      for (std::size_t i = j; i < j + 4; ++i) {
        re[i] = x[2 * i];
        im[i] = x[2 * i + 1];
      }
    }
  }
  for (; j < count; ++j) {
    re[j] = x[2 * j];
    im[j] = x[2 * j + 1];
  }
}

// Z[k] = E + iO holds the spectra E, O of the even and odd points; X[k] = E[k] + exp(-pi i k / count) O[k],
// and X[count-k] = conj(E[k] - exp(..) O[k]).
template <int W>
RUNNEL_LANES_INLINE void unpack_pair(const float* z_re, const float* z_im, std::size_t count, std::size_t k,
                                     const float* cosine, const float* sine, float* re, float* im) {
  const std::size_t mirror = count - k - (W - 1);
  const F<W> a = load<W>(z_re + k), b = load<W>(z_im + k);
  const F<W> c = reverse<W>(load<W>(z_re + mirror)), d = reverse<W>(load<W>(z_im + mirror));
  const F<W> even_re = (a + c) * 0.5F, even_im = (b - d) * 0.5F;
  const Complex<W> odd = Complex<W>{load<W>(cosine + k), load<W>(sine + k)} * Complex<W>{b + d, c - a};
  store<W>(re + k, even_re + odd.re);
  store<W>(im + k, even_im + odd.im);
  store<W>(re + mirror, reverse<W>(even_re - odd.re));
  store<W>(im + mirror, reverse<W>(odd.im - even_im));
}

template <int W>
void unpack_real(const float* z_re, const float* z_im, std::size_t count, const float* factors, float* re,
                 float* im) noexcept {
  const std::size_t half = count / 2;
  const float *cosine = factors, *sine = factors + half + 1;
  re[0] = z_re[0] + z_im[0];
  im[0] = 0;
  re[count] = z_re[0] - z_im[0];
  im[count] = 0;
  std::size_t k = 1;
  if constexpr (W > 1) {
    for (; k + W <= half + 1; k += W) unpack_pair<W>(z_re, z_im, count, k, cosine, sine, re, im);
  }
  if constexpr (W == 1) {
    for (; k + 3 <= half; k += 4) {
      for (std::size_t j = 0; j < 4; ++j) unpack_pair<1>(z_re, z_im, count, k + j, cosine, sine, re, im);
    }
  }
  for (; k <= half; ++k) unpack_pair<1>(z_re, z_im, count, k, cosine, sine, re, im);
}

// Inverse: E = (X[k] + conj X[count-k]) / 2, O = (X[k] - conj X[count-k]) / 2 * exp(pi i k / count).
template <int W>
RUNNEL_LANES_INLINE void pack_pair(const float* re, const float* im, std::size_t count, std::size_t k,
                                   const float* cosine, const float* sine, float* z_re, float* z_im) {
  const std::size_t mirror = count - k - (W - 1);
  const F<W> a = load<W>(re + k), b = load<W>(im + k);
  const F<W> c = reverse<W>(load<W>(re + mirror)), d = reverse<W>(load<W>(im + mirror));
  const F<W> even_re = (a + c) * 0.5F, even_im = (b - d) * 0.5F;
  const Complex<W> odd = Complex<W>{load<W>(cosine + k), -load<W>(sine + k)} * Complex<W>{a - c, b + d};
  store<W>(z_re + k, even_re - odd.im);
  store<W>(z_im + k, even_im + odd.re);
  store<W>(z_re + mirror, reverse<W>(even_re + odd.im));
  store<W>(z_im + mirror, reverse<W>(odd.re - even_im));
}

template <int W>
void pack_real(const float* re, const float* im, std::size_t count, const float* factors, float* z_re,
               float* z_im) noexcept {
  const std::size_t half = count / 2;
  const float *cosine = factors, *sine = factors + half + 1;
  z_re[0] = (re[0] + re[count]) * 0.5F;
  z_im[0] = (re[0] - re[count]) * 0.5F;
  std::size_t k = 1;
  if constexpr (W > 1) {
    for (; k + W <= half + 1; k += W) pack_pair<W>(re, im, count, k, cosine, sine, z_re, z_im);
  }
  for (; k <= half; ++k) pack_pair<1>(re, im, count, k, cosine, sine, z_re, z_im);
}

template <int W>
void interleave(const float* re, const float* im, std::size_t count, float factor, float* x) noexcept {
  std::size_t j = 0;
  if constexpr (W > 1) {
    for (; j + W <= count; j += W) {
      F<W> low, high;
      zip<W>(load<W>(re + j) * factor, load<W>(im + j) * factor, low, high);
      store<W>(x + 2 * j, low);
      store<W>(x + 2 * j + W, high);
    }
  }
  for (; j < count; ++j) {
    x[2 * j] = re[j] * factor;
    x[2 * j + 1] = im[j] * factor;
  }
}

template <int W>
RUNNEL_LANES_INLINE void multiply_lanes(const float* a_re, const float* a_im, const float* b_re,
                                        const float* b_im, std::size_t i, float* re, float* im) {
  const Complex<W> product =
      Complex<W>{load<W>(a_re + i), load<W>(a_im + i)} * Complex<W>{load<W>(b_re + i), load<W>(b_im + i)};
  store<W>(re + i, product.re);
  store<W>(im + i, product.im);
}

template <int W>
void multiply(const float* a_re, const float* a_im, const float* b_re, const float* b_im, std::size_t count,
              float* re, float* im) noexcept {
  std::size_t i = 0;
  if constexpr (W > 1) {
    for (; i + W <= count; i += W) multiply_lanes<W>(a_re, a_im, b_re, b_im, i, re, im);
  }
  for (; i < count; ++i) multiply_lanes<1>(a_re, a_im, b_re, b_im, i, re, im);
}

}  // namespace
}  // namespace runnel::features
