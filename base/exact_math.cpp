#include "base/exact_math.h"

#include "base/exact_math_constant.h"

namespace runnel::exact {

SinCos turn(std::int64_t k, std::int64_t n) noexcept { return constant::turn(k, n); }
SinCos turn(double x) noexcept { return constant::turn(x); }
double log(double x) noexcept { return constant::log(x); }
double log1p(double x) noexcept { return constant::log1p(x); }
double exp(double x) noexcept { return constant::exp(x); }
double pow(double x, double y) noexcept { return constant::pow(x, y); }
double bessel_i0(double x) noexcept { return constant::bessel_i0(x); }

double tanh(double x) noexcept {
  const double magnitude = x < 0 ? -x : x;
  if (!(magnitude > 0.05)) {  // series: the first omitted term is below 1e-17 of the result; NaN passes
    const double x2 = x * x;
    double s = -929569.0 / 638512875;
    s = s * x2 + 21844.0 / 6081075;
    s = s * x2 - 1382.0 / 155925;
    s = s * x2 + 62.0 / 2835;
    s = s * x2 - 17.0 / 315;
    s = s * x2 + 2.0 / 15;
    s = s * x2 - 1.0 / 3;
    return x + x * (x2 * s);
  }
  const double y = magnitude > 20 ? 1.0 : 1 - 2 / (exp(2 * magnitude) + 1);
  return x < 0 ? -y : y;
}

double erf(double x) noexcept {
  const double magnitude = x < 0 ? -x : x;
  if (x != x) return x;
  if (magnitude > 6) return x < 0 ? -1.0 : 1.0;
  // 2/sqrt(pi) exp(-x^2) sum 2^n x^(2n+1) / (2n+1)!!: every term is positive, so nothing cancels (Abramowitz
  // and Stegun, 7.1.6).
  const double x2 = 2 * x * x;
  double term = x, sum = x;
  for (int n = 1; n < 200; ++n) {
    term *= x2 / (2 * n + 1);
    sum += term;
    if ((term < 0 ? -term : term) < (sum < 0 ? -sum : sum) * 1e-17) break;
  }
  return 1.1283791670955126 * exp(-x * x) * sum;
}

}  // namespace runnel::exact
