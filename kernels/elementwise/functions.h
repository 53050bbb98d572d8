// Functions of one value, in float32 and on quantized integers. Evaluated in double precision in a fixed
// order, then rounded once to float32: the same bits on every machine and, except for ties closer than 1e-13,
// the nearest float.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::kernels {

enum class Function : std::uint8_t {
  abs,
  neg,
  exp,
  log,
  sqrt,
  sigmoid,
  tanh,
  swish,         // x * sigmoid(x)
  hard_sigmoid,  // clamp(alpha * x + beta, 0, 1)
  hard_swish,    // x * clamp(x / 6 + 1/2, 0, 1)
  gelu,          // x/2 * (1 + erf(x / sqrt 2))
  gelu_tanh,     // x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
  elu,           // x > 0: x, else alpha * (exp(x) - 1)
  leaky_relu,    // x >= 0: x, else alpha * x
  mish,          // x * tanh(softplus(x))
  softplus,      // log(1 + exp(x))
  erf,
  swoosh  // log(1 + exp(x - alpha)) - beta * x - gamma
};

struct FunctionSpec {
  Function function = Function::abs;
  float alpha = 0, beta = 0, gamma = 0;
};

// e^x with a relative error below 1e-15, 0 below -708, infinity above 709. Branch-free, so that loops over it
// become vector loops; the bits do not depend on that.
RUNNEL_KERNEL_INLINE double exp_of(double x) noexcept {
  constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
  const double limited = x > 709.0 ? 709.0 : x < -708.0 ? -708.0 : x;
  const double shifted = limited * 1.4426950408889634 + kShift;
  const double k = shifted - kShift;
  const double r =
      (limited - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;  // |r| < 0.347
  double p = 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // The integer k sits in the low bits of `shifted`; its exponent field is built from there.
  const std::uint64_t scale = (std::bit_cast<std::uint64_t>(shifted) + 1023) << 52;
  const double y = p * std::bit_cast<double>(scale);
  return x > 709.0 ? __builtin_inf() : x < -708.0 ? 0.0 : y;
}

// Natural logarithm: -infinity of 0, NaN of negative numbers, infinity of infinity.
double log_of(double x) noexcept;

// x to the power y as in ONNX: for negative x, NaN unless y is integral.
double pow_of(double x, double y) noexcept;

// One value.
float evaluate(const FunctionSpec& spec, float x) noexcept;

// y[i] = f(x[i]); y may be x.
void apply(const FunctionSpec& spec, std::size_t count, const float* x, float* y) noexcept;

// Any of int8, int16 (with 2^exponent) and float32 on either side: y = saturate(round_float(f(x *
// 2^x_exponent) * 2^-y_exponent)), f rounded to float32 first, which is ESP-DL's arithmetic for functions
// without a table. y may be x when its elements are no larger.
struct QuantizedFunction {
  FunctionSpec spec;
  DType from = DType::float32, to = DType::float32;
  int x_exponent = 0, y_exponent = 0;
  Rounding rounding = Rounding::half_up;
};
void apply(const QuantizedFunction& how, std::size_t count, const void* x, void* y) noexcept;

}  // namespace runnel::kernels
