// Reference loops of the fixed-point front end, one number at a time: they define the result. Included by
// each simd/fixed_*.cpp; in an unnamed namespace for the reason given in lanes.h.
#pragma once

#include <bit>

#include "features/simd/fixed_kernels.h"

namespace runnel::features {
namespace {

using Int = std::int32_t;

constexpr Int round15(Int product) noexcept { return (product + 16384) >> 15; }
// Values wrap to 16 bits when stored.
constexpr std::int16_t wrap(Int value) noexcept {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(value));
}

struct Pair {
  Int re, im;
};
constexpr Pair operator+(Pair a, Pair b) noexcept { return {a.re + b.re, a.im + b.im}; }
constexpr Pair operator-(Pair a, Pair b) noexcept { return {a.re - b.re, a.im - b.im}; }
// -i a
constexpr Pair turned(Pair a) noexcept { return {a.im, -a.re}; }
constexpr Pair times(Pair a, Pair f) noexcept {
  return {round15(a.re * f.re - a.im * f.im), round15(a.re * f.im + a.im * f.re)};
}
constexpr Pair wrap(Pair a) noexcept { return {wrap(a.re), wrap(a.im)}; }
inline Pair pair_at(const std::int16_t* x, std::size_t i) noexcept { return {x[2 * i], x[2 * i + 1]}; }
inline void put(std::int16_t* x, std::size_t i, Pair value) noexcept {
  x[2 * i] = wrap(value.re);
  x[2 * i + 1] = wrap(value.im);
}
// Divided by kRadix, as a product with a rounded factor.
template <int kRadix>
inline Pair part_at(const std::int16_t* x, std::size_t i) noexcept {
  const Pair value = pair_at(x, i);
  return {round15(value.re * (32767 / kRadix)), round15(value.im * (32767 / kRadix))};
}

inline void scalar_pass2(const FixedPass& pass, const std::int16_t* from, std::int16_t* to, std::size_t k,
                         std::size_t q) noexcept {
  const std::size_t at = 2 * k * pass.apart + q, step = pass.groups * pass.apart;
  const Pair a = part_at<2>(from, at), b = times(part_at<2>(from, at + pass.apart), pair_at(pass.factors, k));
  put(to, k * pass.apart + q, a + b);
  put(to, k * pass.apart + q + step, a - b);
}

inline void scalar_pass4(const FixedPass& pass, const std::int16_t* from, std::int16_t* to, std::size_t k,
                         std::size_t q) noexcept {
  const std::size_t apart = pass.apart, at = 4 * k * apart + q, step = pass.groups * apart;
  const Pair a = part_at<4>(from, at), b = times(part_at<4>(from, at + apart), pair_at(pass.factors, k)),
             c = times(part_at<4>(from, at + 2 * apart), pair_at(pass.factors, pass.groups + k)),
             d = times(part_at<4>(from, at + 3 * apart), pair_at(pass.factors, 2 * pass.groups + k));
  const Pair even = a + c, odd = b + d, difference = a - c, across = turned(b - d);
  std::int16_t* y = to + 2 * (k * apart + q);
  put(y, 0, even + odd);
  put(y, step, difference + across);
  put(y, 2 * step, even - odd);
  put(y, 3 * step, difference - across);
}

inline void scalar_pass(const FixedPass& pass, const std::int16_t* from, std::int16_t* to) noexcept {
  for (std::size_t k = 0; k < pass.groups; ++k) {
    if (pass.radix == 4) {
      for (std::size_t q = 0; q < pass.apart; ++q) scalar_pass4(pass, from, to, k, q);
    } else {
      for (std::size_t q = 0; q < pass.apart; ++q) scalar_pass2(pass, from, to, k, q);
    }
  }
}

// Bin 0 and the last one.
inline void unpack_ends(const std::int16_t* z, std::size_t count, std::int16_t* to) noexcept {
  const Pair first = part_at<2>(z, 0);
  put(to, 0, {first.re + first.im, 0});
  put(to, count, {first.re - first.im, 0});
}
// Bins k and count - k, 1 <= k <= count / 2.
inline void scalar_unpack(const std::int16_t* z, std::size_t count, std::size_t k,
                          const std::int16_t* factors, std::int16_t* to) noexcept {
  const Pair a = part_at<2>(z, k), mirrored = pair_at(z, count - k);
  const Pair b = {round15(mirrored.re * 16383), round15(wrap(-mirrored.im) * 16383)};
  const Pair sum = wrap(a + b), t = wrap(times(wrap(a - b), pair_at(factors, k - 1)));
  put(to, k, {(sum.re + t.re) >> 1, (sum.im + t.im) >> 1});
  put(to, count - k, {(sum.re - t.re) >> 1, (t.im - sum.im) >> 1});
}
inline void scalar_unpack_real(const std::int16_t* z, std::size_t count, const std::int16_t* factors,
                               std::int16_t* to) noexcept {
  unpack_ends(z, count, to);
  for (std::size_t k = 1; k <= count / 2; ++k) scalar_unpack(z, count, k, factors, to);
}

// In 16 bits -32768 is its own absolute value, and so never the highest.
constexpr std::int16_t magnitude(std::int16_t value) noexcept { return value < 0 ? wrap(-value) : value; }
inline std::int16_t scalar_window(const std::int16_t* x, const std::int16_t* window, std::size_t first,
                                  std::size_t count, std::int16_t highest, std::int16_t* to) noexcept {
  for (std::size_t i = first; i < count; ++i) {
    to[i] = wrap(x[i] * window[i] >> 12);
    highest = magnitude(to[i]) > highest ? magnitude(to[i]) : highest;
  }
  return highest;
}
inline int free_bits(std::int16_t highest) noexcept {
  return 15 - std::bit_width(static_cast<std::uint16_t>(highest));
}
inline void scalar_shift(std::int16_t* x, std::size_t first, std::size_t count, int bits) noexcept {
  for (std::size_t i = first; i < count; ++i)
    x[i] = static_cast<std::int16_t>(static_cast<std::uint16_t>(x[i] << bits));
}
inline int scalar_windowed(const std::int16_t* x, const std::int16_t* window, std::size_t count,
                           std::int16_t* to) noexcept {
  const int bits = free_bits(scalar_window(x, window, 0, count, 0, to));
  scalar_shift(to, 0, count, bits);
  return bits;
}

inline void scalar_energies(const std::int16_t* z, std::size_t first, std::size_t count,
                            std::uint32_t* to) noexcept {
  for (std::size_t i = first; i < count; ++i) {
    const Pair x = pair_at(z, i);
    to[i] = static_cast<std::uint32_t>(x.re * x.re) + static_cast<std::uint32_t>(x.im * x.im);
  }
}
inline void scalar_all_energies(const std::int16_t* z, std::size_t count, std::uint32_t* to) noexcept {
  scalar_energies(z, 0, count, to);
}

[[maybe_unused]] constexpr FixedKernels kScalarTable = {.fft_pass = scalar_pass,
                                                        .unpack_real = scalar_unpack_real,
                                                        .window = scalar_windowed,
                                                        .energies = scalar_all_energies};

}  // namespace
}  // namespace runnel::features
