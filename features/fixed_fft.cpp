#include "features/fixed_fft.h"

#include <tuple>
#include <utility>

#include "features/exact_math.h"

namespace runnel::features {
namespace {

using Int = std::int32_t;

constexpr Int round15(Int product) noexcept { return (product + 16384) >> 15; }
// Values wrap to 16 bits wherever they are stored.
constexpr std::int16_t wrap(Int value) noexcept { return static_cast<std::int16_t>(static_cast<std::uint16_t>(value)); }
// x / radix, as a product with a rounded factor.
template <int kRadix>
constexpr Int divided(Int x) noexcept {
  return round15(x * (32767 / kRadix));
}

struct Factor {
  Int re, im;
};
constexpr Int times_re(Int re, Int im, Factor f) noexcept { return round15(re * f.re - im * f.im); }
constexpr Int times_im(Int re, Int im, Factor f) noexcept { return round15(re * f.im + im * f.re); }

// 32767 exp(-2 pi i x), rounded to integers.
std::pair<std::int16_t, std::int16_t> factor_at(double x) noexcept {
  const auto rounded = [](double value) {
    const double shifted = 32767 * value + 0.5;
    const auto whole = static_cast<Int>(shifted);
    return static_cast<std::int16_t>(static_cast<double>(whole) > shifted ? whole - 1 : whole);
  };
  const SinCos at = turn(x);
  return {rounded(at.cos), rounded(-at.sin)};
}

}  // namespace

Status FixedFft::init(std::size_t n, Memory& memory) noexcept {
  if (n < kMin || n > kMax || (n & (n - 1)) != 0) {
    return Status(Code::invalid_argument) << "fixed-point FFT of " << n << " points: expected a power of two from " << kMin
                                          << " to " << kMax;
  }
  const std::size_t half = n / 2;
  auto* at = static_cast<std::int16_t*>(memory.allocate(memory_bytes(n), alignof(std::int16_t)));
  if (at == nullptr) return Status(Code::out_of_memory) << "fixed-point FFT: needs " << memory_bytes(n) << " bytes";
  size_ = n;
  const auto take = [&at](std::size_t count) { return Complex{std::exchange(at, at + count), std::exchange(at, at + count)}; };
  work_[0] = take(half);
  work_[1] = take(half);
  factors_ = take(half);
  split_ = take(half / 2);
  // Pass by pass, factors in the order in which they are used.
  std::size_t next = 0;
  std::size_t m = 1;
  while (m < half) {
    const std::size_t radix = m == 1 && !(half & 0x5555'5555U) ? 2 : 4;
    for (std::size_t k = 0; k < m; ++k) {
      for (std::size_t j = 1; j < radix; ++j, ++next) {
        std::tie(factors_.re[next], factors_.im[next]) = factor_at(static_cast<double>(k * j) / static_cast<double>(radix * m));
      }
    }
    m *= radix;
  }
  for (std::size_t k = 0; k < half / 2; ++k) {
    std::tie(split_.re[k], split_.im[k]) = factor_at((static_cast<double>(k + 1) / static_cast<double>(half) + 0.5) / 2);
  }
  return {};
}

void FixedFft::forward(const std::int16_t* in, std::int16_t* out_re, std::int16_t* out_im) noexcept {
  const std::size_t half = size_ / 2;
  Complex from = work_[0], to = work_[1];
  for (std::size_t i = 0; i < half; ++i) {
    from.re[i] = in[2 * i];
    from.im[i] = in[2 * i + 1];
  }
  // x[k * stride + q] is value k of the transform of length m of the samples q, q + stride, ..
  std::size_t m = 1, stride = half, next = 0;
  if ((half & 0x5555'5555U) == 0) {
    stride /= 2;
    for (std::size_t q = 0; q < stride; ++q) {
      const Int a_re = divided<2>(from.re[q]), a_im = divided<2>(from.im[q]);
      const Factor one{factors_.re[0], factors_.im[0]};
      const Int x_re = divided<2>(from.re[q + stride]), x_im = divided<2>(from.im[q + stride]);
      const Int b_re = times_re(x_re, x_im, one), b_im = times_im(x_re, x_im, one);
      to.re[q] = wrap(a_re + b_re);
      to.im[q] = wrap(a_im + b_im);
      to.re[q + stride] = wrap(a_re - b_re);
      to.im[q + stride] = wrap(a_im - b_im);
    }
    m = 2;
    next = 1;
    std::swap(from, to);
  }
  for (; m < half; m *= 4) {
    const std::size_t apart = stride / 4;   // of the four transforms that become one
    for (std::size_t k = 0; k < m; ++k, next += 3) {
      const Factor f1{factors_.re[next], factors_.im[next]}, f2{factors_.re[next + 1], factors_.im[next + 1]},
          f3{factors_.re[next + 2], factors_.im[next + 2]};
      const std::int16_t *x_re = from.re + k * stride, *x_im = from.im + k * stride;
      std::int16_t *y_re = to.re + k * apart, *y_im = to.im + k * apart;
      const std::size_t step = m * apart;
      for (std::size_t q = 0; q < apart; ++q) {
        const Int a_re = divided<4>(x_re[q]), a_im = divided<4>(x_im[q]);
        const Int p_re = divided<4>(x_re[q + apart]), p_im = divided<4>(x_im[q + apart]);
        const Int r_re = divided<4>(x_re[q + 2 * apart]), r_im = divided<4>(x_im[q + 2 * apart]);
        const Int s_re = divided<4>(x_re[q + 3 * apart]), s_im = divided<4>(x_im[q + 3 * apart]);
        const Int b_re = times_re(p_re, p_im, f1), b_im = times_im(p_re, p_im, f1);
        const Int c_re = times_re(r_re, r_im, f2), c_im = times_im(r_re, r_im, f2);
        const Int d_re = times_re(s_re, s_im, f3), d_im = times_im(s_re, s_im, f3);
        y_re[q] = wrap(a_re + c_re + b_re + d_re);
        y_im[q] = wrap(a_im + c_im + b_im + d_im);
        y_re[q + step] = wrap(a_re - c_re + b_im - d_im);
        y_im[q + step] = wrap(a_im - c_im - b_re + d_re);
        y_re[q + 2 * step] = wrap(a_re + c_re - b_re - d_re);
        y_im[q + 2 * step] = wrap(a_im + c_im - b_im - d_im);
        y_re[q + 3 * step] = wrap(a_re - c_re - b_im + d_im);
        y_im[q + 3 * step] = wrap(a_im - c_im + b_re - d_re);
      }
    }
    stride = apart;
    std::swap(from, to);
  }
  const Int re0 = divided<2>(from.re[0]), im0 = divided<2>(from.im[0]);
  out_re[0] = wrap(re0 + im0);
  out_re[half] = wrap(re0 - im0);
  out_im[0] = out_im[half] = 0;
  for (std::size_t k = 1; k <= half / 2; ++k) {
    const Int a_re = divided<2>(from.re[k]), a_im = divided<2>(from.im[k]);
    const Int b_re = divided<2>(from.re[half - k]), b_im = divided<2>(wrap(-from.im[half - k]));
    const Int sum_re = wrap(a_re + b_re), sum_im = wrap(a_im + b_im);
    const Int difference_re = wrap(a_re - b_re), difference_im = wrap(a_im - b_im);
    const Factor f{split_.re[k - 1], split_.im[k - 1]};
    const Int t_re = wrap(times_re(difference_re, difference_im, f)), t_im = wrap(times_im(difference_re, difference_im, f));
    out_re[k] = wrap((sum_re + t_re) >> 1);
    out_im[k] = wrap((sum_im + t_im) >> 1);
    out_re[half - k] = wrap((sum_re - t_re) >> 1);
    out_im[half - k] = wrap((t_im - sum_im) >> 1);
  }
}

}  // namespace runnel::features
