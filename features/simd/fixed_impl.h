// The loops of the fixed-point front end on vectors of W pairs of 16-bit integers. See lanes.h for how this
// file is compiled.
#pragma once

#include "features/simd/fixed_lanes.h"
#include "features/simd/fixed_scalar.h"

namespace runnel::features {
namespace {

// Four transforms become one, in place.
template <int W>
RUNNEL_LANES_INLINE void fixed_butterfly(H<W>* x, const Factor<W>* f) {
  const H<W> a = rounded_product<W>(x[0], 8191);
  const H<W> b = times<W>(rounded_product<W>(x[1], 8191), f[0]),
             c = times<W>(rounded_product<W>(x[2], 8191), f[1]),
             d = times<W>(rounded_product<W>(x[3], 8191), f[2]);
  const H<W> even = plus<W>(a, c), odd = plus<W>(b, d), difference = minus<W>(a, c),
             across = with_minus_im<W>(swapped<W>(minus<W>(b, d)));
  x[0] = plus<W>(even, odd);
  x[1] = plus<W>(difference, across);
  x[2] = minus<W>(even, odd);
  x[3] = minus<W>(difference, across);
}

// apart % W == 0: a vector holds neighbours that share their factors.
template <int W>
RUNNEL_LANES_INLINE void fixed_pass_wide(const FixedPass& pass, const std::int16_t* from, std::int16_t* to) {
  const std::size_t apart = 2 * pass.apart, step = pass.groups * apart;
  for (std::size_t k = 0; k < pass.groups; ++k) {
    const std::int16_t *x = from + k * pass.radix * apart, *f = pass.factors + 2 * k;
    std::int16_t* y = to + k * apart;
    if (pass.radix == 2) {
      const Factor<W> factor = Factor<W>::of(splat_pair<W>(f));
      for (std::size_t q = 0; q < apart; q += 2 * W) {
        const H<W> a = rounded_product<W>(load16<W>(x + q), 16383);
        const H<W> b = times<W>(rounded_product<W>(load16<W>(x + apart + q), 16383), factor);
        store16<W>(y + q, plus<W>(a, b));
        store16<W>(y + step + q, minus<W>(a, b));
      }
      continue;
    }
    Factor<W> factors[3];
    for (std::size_t j = 0; j < 3; ++j) factors[j] = Factor<W>::of(splat_pair<W>(f + 2 * j * pass.groups));
    for (std::size_t q = 0; q < apart; q += 2 * W) {
      H<W> v[4];
      for (std::size_t j = 0; j < 4; ++j) v[j] = load16<W>(x + j * apart + q);
      fixed_butterfly<W>(v, factors);
      for (std::size_t j = 0; j < 4; ++j) store16<W>(y + j * step + q, v[j]);
    }
  }
}

// The last pass, apart = 1, groups % W == 0: a vector holds the same point of W groups, four apart.
template <int W>
RUNNEL_LANES_INLINE void fixed_pass_last(const FixedPass& pass, const std::int16_t* from, std::int16_t* to) {
  const std::size_t step = 2 * pass.groups;
  for (std::size_t k = 0; k < step; k += 2 * W) {
    H<W> even[2], odd[2], v[4];
    for (std::size_t j = 0; j < 2; ++j)
      split_even_odd<W>(load16<W>(from + 4 * k + 4 * j * W), load16<W>(from + 4 * k + (4 * j + 2) * W),
                        even[j], odd[j]);
    split_even_odd<W>(even[0], even[1], v[0], v[2]);
    split_even_odd<W>(odd[0], odd[1], v[1], v[3]);
    Factor<W> factors[3];
    for (std::size_t j = 0; j < 3; ++j) factors[j] = Factor<W>::of(load16<W>(pass.factors + j * step + k));
    fixed_butterfly<W>(v, factors);
    for (std::size_t j = 0; j < 4; ++j) store16<W>(to + j * step + k, v[j]);
  }
}

template <int W>
void fixed_pass(const FixedPass& pass, const std::int16_t* from, std::int16_t* to) noexcept {
  if (pass.apart % W == 0) return fixed_pass_wide<W>(pass, from, to);
  if (pass.radix == 4 && pass.apart == 1 && pass.groups % W == 0) return fixed_pass_last<W>(pass, from, to);
  if constexpr (W > 4)
    fixed_pass<W / 2>(pass, from, to);
  else
    scalar_pass(pass, from, to);
}

template <int W>
void fixed_unpack_real(const std::int16_t* z, std::size_t count, const std::int16_t* factors,
                       std::int16_t* to) noexcept {
  unpack_ends(z, count, to);
  std::size_t k = 1;
  for (; k + W <= count / 2 + 1; k += W) {
    const std::size_t mirror = 2 * (count - k - (W - 1));
    const H<W> a = rounded_product<W>(load16<W>(z + 2 * k), 16383);
    const H<W> b = rounded_product<W>(with_minus_im<W>(reversed_pairs<W>(load16<W>(z + mirror))), 16383);
    const H<W> sum = plus<W>(a, b),
               t = times<W>(minus<W>(a, b), Factor<W>::of(load16<W>(factors + 2 * (k - 1))));
    store16<W>(to + 2 * k, half_sum<W>(sum, t));
    // (sum.re - t.re) / 2, (t.im - sum.im) / 2
    const H<W> mirrored = half_difference<W>(merged<W>((U<W>)sum, (U<W>)t), merged<W>((U<W>)t, (U<W>)sum));
    store16<W>(to + mirror, reversed_pairs<W>(mirrored));
  }
  for (; k <= count / 2; ++k) scalar_unpack(z, count, k, factors, to);
}

template <int W>
int fixed_window(const std::int16_t* x, const std::int16_t* window, std::size_t count,
                 std::int16_t* to) noexcept {
  H<W> highest = {};
  std::size_t i = 0;
  for (; i + 2 * W <= count; i += 2 * W) {
    const H<W> a = load16<W>(x + i), b = load16<W>(window + i);
    const H<W> v = (H<W>)(((Uh<W>)high_products<W>(a, b) << 4) | (low_products<W>(a, b) >> 12));
    const H<W> negative = minus<W>(H<W>{}, v), size = v > negative ? v : negative;
    highest = highest > size ? highest : size;
    store16<W>(to + i, v);
  }
  std::int16_t lanes[2 * W], most = 0;
  store16<W>(lanes, highest);
  for (const std::int16_t one : lanes) most = one > most ? one : most;
  const int bits = free_bits(scalar_window(x, window, i, count, most, to));
  std::size_t j = 0;
  for (; j < i; j += 2 * W) store16<W>(to + j, (H<W>)((Uh<W>)load16<W>(to + j) << bits));
  scalar_shift(to, j, count, bits);
  return bits;
}

template <int W>
void fixed_energies(const std::int16_t* z, std::size_t count, std::uint32_t* to) noexcept {
  std::size_t i = 0;
  for (; i + W <= count; i += W) {
    const H<W> x = load16<W>(z + 2 * i);
    const U<W> energy = pair_products<W>(x, x);
    __builtin_memcpy(to + i, &energy, sizeof energy);
  }
  scalar_energies(z, i, count, to);
}

template <int W>
constexpr FixedKernels fixed_table() {
  return {.fft_pass = fixed_pass<W>,
          .unpack_real = fixed_unpack_real<W>,
          .window = fixed_window<W>,
          .energies = fixed_energies<W>};
}

}  // namespace
}  // namespace runnel::features
