#include "kernels/elementwise/functions.h"

#include <type_traits>

#include "base/exact_math.h"
#include "base/float_lanes.h"

namespace runnel::kernels {
namespace {

constexpr double kQuietNan = __builtin_nan("");

double sigmoid(double x) noexcept { return 1 / (1 + exp_of(-x)); }
double clamp01(double x) noexcept { return x < 0 ? 0 : x > 1 ? 1 : x; }

double softplus(double x) noexcept {
  if (x > 40) return x;  // the rest is below the last place
  return x != x ? x : exact::log1p(exp_of(x));
}

double mish(double x) noexcept {
  if (x > 40) return x;
  const double e = exp_of(x), n = e * (e + 2);  // tanh(log(1 + e)) = n / (n + 2)
  return x < -700 ? 0 : x * (n / (n + 2));
}

double elu_part(double x) noexcept {  // exp(x) - 1 without cancellation, x <= 0
  if (x > -1e-3) return x * (1 + x * (0.5 + x * (1.0 / 6 + x * (1.0 / 24))));
  return exp_of(x) - 1;
}

// The product of two floats is exact in double precision, so that float multiplication gives the same bits.
// Vectors by name: compilers branch here, which costs most where signs are mixed.
void leaky_relu(float alpha, std::size_t count, const float* x, float* y) noexcept {
  constexpr int kLanes = 4;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const lanes::F<kLanes> v = lanes::load<kLanes>(x + i), below = v * alpha;
    lanes::store<kLanes>(y + i, v >= lanes::F<kLanes>{} ? v : below);
  }
  for (; i < count; ++i) y[i] = x[i] >= 0 ? x[i] : alpha * x[i];
}

// One loop per function, so that the simple ones become vector loops.
template <class F>
void each(std::size_t count, const float* x, float* y, F f) noexcept {
  RUNNEL_IN_PLACE_LOOP
  for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<float>(f(static_cast<double>(x[i])));
}

template <class Visitor>
void visit(const FunctionSpec& spec, Visitor&& go) noexcept {
  const double alpha = spec.alpha, beta = spec.beta, gamma = spec.gamma;
  switch (spec.function) {
    case Function::abs:
      return go([](double x) { return __builtin_fabs(x); });
    case Function::neg:
      return go([](double x) { return -x; });
    case Function::exp:
      return go([](double x) { return exp_of(x); });
    case Function::log:
      return go([](double x) { return log_of(x); });
    case Function::sqrt:
      return go([](double x) { return x >= 0 ? __builtin_sqrt(x) : kQuietNan; });
    case Function::sigmoid:
      return go([](double x) { return sigmoid(x); });
    case Function::tanh:
      return go([](double x) { return exact::tanh(x); });
    case Function::swish:
      return go([](double x) { return x < -700 ? 0 : x * sigmoid(x); });
    case Function::hard_sigmoid:
      return go([=](double x) { return clamp01(alpha * x + beta); });
    case Function::hard_swish:
      return go([](double x) { return x * clamp01(x / 6 + 0.5); });
    case Function::gelu:
      return go([](double x) { return x < -40 ? 0 : 0.5 * x * (1 + exact::erf(x / 1.4142135623730951)); });
    case Function::gelu_tanh:
      return go([](double x) {
        return x < -40 ? 0 : 0.5 * x * (1 + exact::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
      });
    case Function::elu:
      return go([=](double x) { return x > 0 ? x : alpha * elu_part(x); });
    case Function::leaky_relu:
      return;  // leaky_relu()
    case Function::mish:
      return go([](double x) { return mish(x); });
    case Function::softplus:
      return go([](double x) { return softplus(x); });
    case Function::erf:
      return go([](double x) { return exact::erf(x); });
    case Function::swoosh:
      return go([=](double x) { return softplus(x - alpha) - beta * x - gamma; });
  }
}

}  // namespace

double log_of(double x) noexcept {
  if (!(x > 0)) return x == 0 ? -__builtin_inf() : kQuietNan;
  return x > 1.7976931348623157e308 ? x : exact::log(x);
}

double pow_of(double x, double y) noexcept {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return kQuietNan;
  const bool integral = y == __builtin_floor(y);
  // Beyond 2^53 every double is even.
  const bool odd =
      integral && __builtin_fabs(y) < 9007199254740992.0 && (static_cast<std::int64_t>(y) & 1) != 0;
  if (x < 0 && !integral) return kQuietNan;
  const double size = __builtin_fabs(x);
  double result = 1;
  if (integral && __builtin_fabs(y) <= 64) {  // exact for powers of small integers
    double base = size;
    for (auto n = static_cast<std::uint32_t>(__builtin_fabs(y)); n != 0; n >>= 1) {
      if ((n & 1) != 0) result *= base;
      base *= base;
    }
    if (y < 0) result = 1 / result;
  } else if (size == 0) {
    result = y > 0 ? 0 : __builtin_inf();
  } else {
    result = exp_of(y * log_of(size));
  }
  return x < 0 && odd ? -result : result;
}

float evaluate(const FunctionSpec& spec, float x) noexcept {
  float y = 0;
  apply(spec, 1, &x, &y);
  return y;
}

void apply(const FunctionSpec& spec, std::size_t count, const float* x, float* y) noexcept {
  if (spec.function == Function::leaky_relu) return leaky_relu(spec.alpha, count, x, y);
  visit(spec, [&](auto f) { each(count, x, y, f); });
}

namespace {

template <class X, class Y>
void quantized(const QuantizedFunction& how, std::size_t count, const X* x, Y* y) noexcept {
  const float x_scale = power_of_two(how.x_exponent), y_scale = power_of_two(-how.y_exponent);
  constexpr std::size_t kPiece = 64;
  float values[kPiece];
  for (std::size_t start = 0; start < count; start += kPiece) {
    const std::size_t piece = count - start < kPiece ? count - start : kPiece;
    for (std::size_t i = 0; i < piece; ++i) {
      if constexpr (std::is_same_v<X, float>)
        values[i] = x[start + i];
      else
        values[i] = static_cast<float>(x[start + i]) * x_scale;
    }
    apply(how.spec, piece, values, values);
    for (std::size_t i = 0; i < piece; ++i) {
      if constexpr (std::is_same_v<Y, float>)
        y[start + i] = values[i];
      else
        y[start + i] = saturate<Y>(round_float(values[i] * y_scale, how.rounding));
    }
  }
}

template <class X>
void from(const QuantizedFunction& how, std::size_t count, const X* x, void* y) noexcept {
  if (how.to == DType::int8)
    quantized(how, count, x, static_cast<std::int8_t*>(y));
  else if (how.to == DType::int16)
    quantized(how, count, x, static_cast<std::int16_t*>(y));
  else
    quantized(how, count, x, static_cast<float*>(y));
}

}  // namespace

void apply(const QuantizedFunction& how, std::size_t count, const void* x, void* y) noexcept {
  if (how.from == DType::int8)
    from(how, count, static_cast<const std::int8_t*>(x), y);
  else if (how.from == DType::int16)
    from(how, count, static_cast<const std::int16_t*>(x), y);
  else
    from(how, count, static_cast<const float*>(x), y);
}

}  // namespace runnel::kernels
