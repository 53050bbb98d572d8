// FFT passes for any width. See complex_fft.h for the algorithm and lanes.h for how this file is compiled.
#pragma once

#include "features/simd/kernels.h"
#include "features/simd/lanes.h"

namespace runnel::features {
namespace {

template <int W>
struct Complex {
  F<W> re, im;
};
template <int W>
RUNNEL_LANES_INLINE Complex<W> operator+(Complex<W> a, Complex<W> b) {
  return {a.re + b.re, a.im + b.im};
}
template <int W>
RUNNEL_LANES_INLINE Complex<W> operator-(Complex<W> a, Complex<W> b) {
  return {a.re - b.re, a.im - b.im};
}
template <int W>
RUNNEL_LANES_INLINE Complex<W> operator*(Complex<W> a, Complex<W> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <int W>
RUNNEL_LANES_INLINE Complex<W> scaled(Complex<W> a, float s) {
  return {a.re * s, a.im * s};
}
// -i a
template <int W>
RUNNEL_LANES_INLINE Complex<W> minus_i(Complex<W> a) {
  return {a.im, -a.re};
}

// DFT of R points, in place.
template <int W, int R>
RUNNEL_LANES_INLINE void butterfly(Complex<W>* x) {
  if constexpr (R == 2) {
    const Complex<W> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (R == 3) {
    constexpr float kSin60 = 0.866025403784438646763723F;
    const Complex<W> sum = x[1] + x[2], turned = minus_i(scaled(x[1] - x[2], kSin60));
    const Complex<W> centre = x[0] - scaled(sum, 0.5F);
    x[0] = x[0] + sum;
    x[1] = centre + turned;
    x[2] = centre - turned;
  } else if constexpr (R == 4) {
    const Complex<W> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = minus_i(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else {
    static_assert(R == 5);
    constexpr float kRoot5Quarter = 0.559016994374947424102293F;  // cos 72 + 1/4
    constexpr float kSin72 = 0.951056516295153572116439F, kSin144 = 0.587785252292473129168706F;
    const Complex<W> a = x[1] + x[4], b = x[2] + x[3], c = x[1] - x[4], d = x[2] - x[3], sum = a + b;
    // cos 72 a + cos 144 b = -(a + b) / 4 + root 5 / 4 (a - b): a quarter is not rounded.
    const Complex<W> middle = x[0] - scaled(sum, 0.25F), swing = scaled(a - b, kRoot5Quarter);
    const Complex<W> p = middle + swing, q = middle - swing;
    const Complex<W> r = minus_i(scaled(c, kSin72) + scaled(d, kSin144));
    const Complex<W> s = minus_i(scaled(c, kSin144) - scaled(d, kSin72));
    x[0] = x[0] + sum;
    x[1] = p + r;
    x[2] = q + s;
    x[3] = q - s;
    x[4] = p - r;
  }
}

template <int W, int R>
RUNNEL_LANES_INLINE void gather_points(Complex<W>* x, const float* re, const float* im, std::size_t step) {
  for (int k = 0; k < R; ++k) x[k] = {load<W>(re + k * step), load<W>(im + k * step)};
}

// Passes never write where they read: a last vector that would pass the end is moved back to end there and
// recomputes a few results.
template <int W>
RUNNEL_LANES_INLINE std::size_t last_start(std::size_t at, std::size_t count) {
  return at + W <= count ? at : count - W;
}

// stride >= W: a vector holds neighbours that share their twiddles.
template <int W, int R>
void pass_wide(const FftPass& pass, const float* from_re, const float* from_im, float* to_re,
               float* to_im) noexcept {
  const std::size_t groups = static_cast<std::size_t>(pass.groups),
                    stride = static_cast<std::size_t>(pass.stride);
  const std::size_t step = groups * stride;
  for (std::size_t p = 0; p < groups; ++p) {
    Complex<W> w[R] = {};
    if (groups > 1) {
      for (std::size_t k = 1; k < R; ++k) {
        const float* t = pass.twiddles + (k - 1) * 2 * groups + p;
        w[k] = {splat<W>(t[0]), splat<W>(t[groups])};
      }
    }
    for (std::size_t at = 0; at < stride; at += W) {
      const std::size_t q = last_start<W>(at, stride);
      Complex<W> x[R];
      gather_points<W, R>(x, from_re + p * stride + q, from_im + p * stride + q, step);
      butterfly<W, R>(x);
      for (std::size_t k = 0; k < R; ++k) {
        if (groups > 1 && k > 0) x[k] = x[k] * w[k];
        const std::size_t to = (p * R + k) * stride + q;
        store<W>(to_re + to, x[k].re);
        store<W>(to_im + to, x[k].im);
      }
    }
  }
}

// Stride 1, groups >= W, radix 4: a vector holds W groups, whose results are interleaved lane by lane.
// load_points(p, x): the four points of groups p to p + W - 1.
template <int W, class LoadPoints>
RUNNEL_LANES_INLINE void first4(const FftPass& pass, LoadPoints load_points, float* to_re, float* to_im) {
  const std::size_t groups = static_cast<std::size_t>(pass.groups);
  for (std::size_t at = 0; at < groups; at += W) {
    const std::size_t p = last_start<W>(at, groups);
    Complex<W> x[4];
    load_points(p, x);
    butterfly<W, 4>(x);
    if (groups > 1) {
      for (std::size_t k = 1; k < 4; ++k) {
        const float* t = pass.twiddles + (k - 1) * 2 * groups + p;
        x[k] = x[k] * Complex<W>{load<W>(t), load<W>(t + groups)};
      }
    }
    const auto interleave = [](F<W> a, F<W> b, F<W> c, F<W> d, float* to) __attribute__((always_inline)) {
      F<W> out[4];
      zip_four<W>(a, b, c, d, out);
      for (int i = 0; i < 4; ++i) store<W>(to + i * W, out[i]);
    };
    interleave(x[0].re, x[1].re, x[2].re, x[3].re, to_re + 4 * p);
    interleave(x[0].im, x[1].im, x[2].im, x[3].im, to_im + 4 * p);
  }
}
template <int W>
void pass_first4(const FftPass& pass, const float* from_re, const float* from_im, float* to_re,
                 float* to_im) noexcept {
  const auto groups = static_cast<std::size_t>(pass.groups);
  first4<W>(
      pass,
      [=](std::size_t p, Complex<W> * x)
          __attribute__((always_inline)) { gather_points<W, 4>(x, from_re + p, from_im + p, groups); },
      to_re, to_im);
}

// Stride 4, groups >= W/4, radix 4: a vector holds W/4 groups of four neighbours.
template <int W>
void pass_second4(const FftPass& pass, const float* from_re, const float* from_im, float* to_re,
                  float* to_im) noexcept {
  const std::size_t groups = static_cast<std::size_t>(pass.groups);
  for (std::size_t at = 0; at < groups; at += W / 4) {
    const std::size_t p = last_start<W / 4>(at, groups);
    Complex<W> x[4];
    gather_points<W, 4>(x, from_re + 4 * p, from_im + 4 * p, 4 * groups);
    butterfly<W, 4>(x);
    if (groups > 1) {
      for (std::size_t k = 1; k < 4; ++k) {
        const float* t = pass.twiddles + (k - 1) * 2 * groups + p;
        x[k] = x[k] * Complex<W>{load_quadrupled<W>(t), load_quadrupled<W>(t + groups)};
      }
    }
    const auto interleave = [](F<W> a, F<W> b, F<W> c, F<W> d, float* to) __attribute__((always_inline)) {
      F<W> out[4];
      zip_four_quads<W>(a, b, c, d, out);
      for (int i = 0; i < 4; ++i) store<W>(to + i * W, out[i]);
    };
    interleave(x[0].re, x[1].re, x[2].re, x[3].re, to_re + 16 * p);
    interleave(x[0].im, x[1].im, x[2].im, x[3].im, to_im + 16 * p);
  }
}

// Radix 4 without vectors: kTogether neighbours, `stride` between groups of results and `step` between
// points, with one address per row of them, since float loads take no index.
template <int kTogether, bool kTurn>
RUNNEL_LANES_INLINE void fours(const float* re, const float* im, std::size_t step, const Complex<1>* w,
                               float* to_re, float* to_im, std::size_t stride) {
  Complex<1> x[kTogether][4];
  for (int k = 0; k < 4; ++k, re += step, im += step) {
    for (int j = 0; j < kTogether; ++j) x[j][k] = {re[j], im[j]};
  }
  for (int j = 0; j < kTogether; ++j) butterfly<1, 4>(x[j]);
  for (int k = 0; k < 4; ++k, to_re += stride, to_im += stride) {
    for (int j = 0; j < kTogether; ++j) {
      const Complex<1> y = kTurn && k > 0 ? x[j][k] * w[k] : x[j][k];
      to_re[j] = y.re;
      to_im[j] = y.im;
    }
  }
}
template <bool kTurn>
RUNNEL_LANES_INLINE void row_of_fours(const float* re, const float* im, std::size_t step, const Complex<1>* w,
                                      float* to_re, float* to_im, std::size_t stride) {
  std::size_t left = stride;
  for (; left >= 2; left -= 2, re += 2, im += 2, to_re += 2, to_im += 2)
    fours<2, kTurn>(re, im, step, w, to_re, to_im, stride);
  if (left > 0) fours<1, kTurn>(re, im, step, w, to_re, to_im, stride);
}
[[maybe_unused]] void pass_fours(const FftPass& pass, const float* from_re, const float* from_im,
                                 float* to_re, float* to_im) noexcept {
  const auto groups = static_cast<std::size_t>(pass.groups), stride = static_cast<std::size_t>(pass.stride);
  if (groups == 1) return row_of_fours<false>(from_re, from_im, stride, nullptr, to_re, to_im, stride);
  const float* twiddles = pass.twiddles;
  const auto next = [&](Complex<1> * w) __attribute__((always_inline)) {
    const float* t = twiddles++;
    for (int k = 1; k < 4; ++k, t += groups) {
      w[k].re = *t;
      w[k].im = *(t += groups);
    }
  };
  Complex<1> w[4] = {};
  if (stride == 1) {
    for (std::size_t p = 0; p < groups; ++p, to_re += 4, to_im += 4) {
      next(w);
      fours<1, true>(from_re++, from_im++, groups, w, to_re, to_im, 1);
    }
    return;
  }
  for (std::size_t p = 0; p < groups;
       ++p, from_re += stride, from_im += stride, to_re += 4 * stride, to_im += 4 * stride) {
    next(w);
    row_of_fours<true>(from_re, from_im, groups * stride, w, to_re, to_im, stride);
  }
}

template <int W, int R>
void pass_of_radix(const FftPass& pass, const float* from_re, const float* from_im, float* to_re,
                   float* to_im) noexcept {
  if constexpr (W > 1) {
    if (pass.stride >= W) return pass_wide<W, R>(pass, from_re, from_im, to_re, to_im);
    if constexpr (R == 4) {
      if (pass.stride == 1 && pass.groups >= W) return pass_first4<W>(pass, from_re, from_im, to_re, to_im);
      if constexpr (W > 4) {
        if (pass.stride == 4 && pass.groups >= W / 4)
          return pass_second4<W>(pass, from_re, from_im, to_re, to_im);
      }
    }
    return pass_of_radix<(W > 4 ? W / 2 : 1), R>(pass, from_re, from_im, to_re, to_im);
  } else if constexpr (R == 4) {
    return pass_fours(pass, from_re, from_im, to_re, to_im);
  } else {
    return pass_wide<1, R>(pass, from_re, from_im, to_re, to_im);
  }
}

// Any radix, by the definition of the DFT: for sizes with larger prime factors.
template <int W>
void pass_any_radix(const FftPass& pass, const float* from_re, const float* from_im, float* to_re,
                    float* to_im) noexcept {
  const std::size_t radix = static_cast<std::size_t>(pass.radix),
                    groups = static_cast<std::size_t>(pass.groups);
  const std::size_t stride = static_cast<std::size_t>(pass.stride), step = groups * stride;
  if constexpr (W > 1) {
    if (stride < W) return pass_any_radix<(W > 4 ? W / 2 : 1)>(pass, from_re, from_im, to_re, to_im);
  }
  for (std::size_t p = 0; p < groups; ++p) {
    for (std::size_t at = 0; at < stride; at += W) {
      const std::size_t q = last_start<W>(at, stride);
      const float *re = from_re + p * stride + q, *im = from_im + p * stride + q;
      for (std::size_t k = 0; k < radix; ++k) {
        Complex<W> sum{load<W>(re), load<W>(im)};
        std::size_t root = 0;
        for (std::size_t j = 1; j < radix; ++j) {
          root += k;
          if (root >= radix) root -= radix;
          sum = sum + Complex<W>{load<W>(re + j * step), load<W>(im + j * step)} *
                          Complex<W>{splat<W>(pass.roots[2 * root]), splat<W>(pass.roots[2 * root + 1])};
        }
        if (groups > 1 && k > 0) {
          const float* t = pass.twiddles + (k - 1) * 2 * groups + p;
          sum = sum * Complex<W>{splat<W>(t[0]), splat<W>(t[groups])};
        }
        store<W>(to_re + (p * radix + k) * stride + q, sum.re);
        store<W>(to_im + (p * radix + k) * stride + q, sum.im);
      }
    }
  }
}

template <int W>
void fft_pass(const FftPass& pass, const float* from_re, const float* from_im, float* to_re,
              float* to_im) noexcept {
  switch (pass.radix) {
    case 2:
      return pass_of_radix<W, 2>(pass, from_re, from_im, to_re, to_im);
    case 3:
      return pass_of_radix<W, 3>(pass, from_re, from_im, to_re, to_im);
    case 4:
      return pass_of_radix<W, 4>(pass, from_re, from_im, to_re, to_im);
    case 5:
      return pass_of_radix<W, 5>(pass, from_re, from_im, to_re, to_im);
    default:
      return pass_any_radix<W>(pass, from_re, from_im, to_re, to_im);
  }
}

}  // namespace
}  // namespace runnel::features
