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
      load_pairs<W>(x + 2 * j, even, odd);
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

// Two lanes of a real spectrum: X[k], and X[count-k] with its lanes reversed.
template <int W>
struct SpectrumPair {
  Complex<W> here, mirrored;
};

// Z[k] = E + iO holds the spectra E, O of the even and odd points; X[k] = E[k] + exp(-pi i k / count) O[k],
// and X[count-k] = conj(E[k] - exp(..) O[k]).
template <int W>
RUNNEL_LANES_INLINE SpectrumPair<W> unpack_pair(const float* z_re, const float* z_im, std::size_t count,
                                                std::size_t k, const float* cosine, const float* sine) {
  const std::size_t mirror = count - k - (W - 1);
  const F<W> a = load<W>(z_re + k), b = load<W>(z_im + k);
  const F<W> c = reverse<W>(load<W>(z_re + mirror)), d = reverse<W>(load<W>(z_im + mirror));
  const F<W> even_re = (a + c) * 0.5F, even_im = (b - d) * 0.5F;
  const Complex<W> odd = Complex<W>{load<W>(cosine + k), load<W>(sine + k)} * Complex<W>{b + d, c - a};
  return {{even_re + odd.re, even_im + odd.im}, {even_re - odd.re, odd.im - even_im}};
}

// Calls store_pair<width>(k, pair) for k = 1 .. count / 2 in steps of the width.
template <int W, class StorePair>
RUNNEL_LANES_INLINE void unpack_pairs(const float* z_re, const float* z_im, std::size_t count,
                                      const float* factors, StorePair store_pair) {
  const std::size_t half = count / 2;
  const float *cosine = factors, *sine = factors + half + 1;
  std::size_t k = 1;
  if constexpr (W > 1) {
    for (; k + W <= half + 1; k += W)
      store_pair.template operator()<W>(k, unpack_pair<W>(z_re, z_im, count, k, cosine, sine));
  }
  if constexpr (W == 1) {
    for (; k + 3 <= half; k += 4) {
      for (std::size_t j = k; j < k + 4; ++j)
        store_pair.template operator()<1>(j, unpack_pair<1>(z_re, z_im, count, j, cosine, sine));
    }
  }
  for (; k <= half; ++k)
    store_pair.template operator()<1>(k, unpack_pair<1>(z_re, z_im, count, k, cosine, sine));
}

template <int W>
void unpack_real(const float* z_re, const float* z_im, std::size_t count, const float* factors, float* re,
                 float* im) noexcept {
  re[0] = z_re[0] + z_im[0];
  im[0] = 0;
  re[count] = z_re[0] - z_im[0];
  im[count] = 0;
  unpack_pairs<W>(
      z_re, z_im, count,
      factors, [=]<int V>(std::size_t k, const SpectrumPair<V>& pair) __attribute__((always_inline)) {
        const std::size_t mirror = count - k - (V - 1);
        store<V>(re + k, pair.here.re);
        store<V>(im + k, pair.here.im);
        store<V>(re + mirror, reverse<V>(pair.mirrored.re));
        store<V>(im + mirror, reverse<V>(pair.mirrored.im));
      });
}

template <int W>
RUNNEL_LANES_INLINE F<W> power_of(Complex<W> a) {
  return a.re * a.re + a.im * a.im;
}

template <int W>
void unpack_power(const float* z_re, const float* z_im, std::size_t count, const float* factors,
                  float* to) noexcept {
  to[0] = power_of<1>({z_re[0] + z_im[0], 0.0F});
  to[count] = power_of<1>({z_re[0] - z_im[0], 0.0F});
  unpack_pairs<W>(
      z_re, z_im, count,
      factors, [=]<int V>(std::size_t k, const SpectrumPair<V>& pair) __attribute__((always_inline)) {
        store<V>(to + k, power_of<V>(pair.here));
        store<V>(to + count - k - (V - 1), reverse<V>(power_of<V>(pair.mirrored)));
      });
}

// Stride 1, radix 4: as deinterleave() and pass_first4().
template <int W>
bool pass_of_pairs(const FftPass& pass, const float* x, float* to_re, float* to_im) noexcept {
  const auto groups = static_cast<std::size_t>(pass.groups);
  if (pass.radix != 4 || pass.stride != 1 || groups < W) return false;
  const auto load_points = [=](std::size_t p, Complex<W> * points) __attribute__((always_inline)) {
    for (std::size_t k = 0; k < 4; ++k) {
      const float* at = x + 2 * (p + k * groups);
      load_pairs<W>(at, points[k].re, points[k].im);
    }
  };
  first4<W>(pass, load_points, to_re, to_im);
  return true;
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
