// Elementary functions in double precision, each a fixed sequence of additions, multiplications and
// divisions, so that tables (twiddles, windows, mel weights, filter taps) have the same bits on every
// machine, which the C library does not promise. Errors are a few units in the last place of a double, far
// below the single precision that tables are rounded to.
#pragma once

#include <cstdint>

namespace runnel::exact {

inline constexpr double kPi = 3.14159265358979323846;

// sin and cos of 2 pi k / n; n > 0, |k| <= 2^53 / 8. Exact at multiples of a quarter turn. Integers determine
// the octant, so that symmetric entries are symmetric to the bit.
struct SinCos {
  double sin, cos;
};
SinCos turn(std::int64_t k, std::int64_t n) noexcept;

// sin and cos of 2 pi x, for any |x| < 2^50.
SinCos turn(double x) noexcept;

// Natural logarithm; x > 0 and finite.
double log(double x) noexcept;
// log(1 + x), accurate for small x; x > -1.
double log1p(double x) noexcept;
double exp(double x) noexcept;
// x to the power y; x >= 0 (0 gives 0 for y > 0).
double pow(double x, double y) noexcept;
double tanh(double x) noexcept;
// The error function; absolute error below 1e-15.
double erf(double x) noexcept;
// Modified Bessel function of the first kind of order zero (for Kaiser windows), |x| <= 50.
double bessel_i0(double x) noexcept;

}  // namespace runnel::exact
