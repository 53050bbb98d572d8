#include "kernels/softmax.h"

#include <type_traits>

#include "kernels/functions.h"

namespace runnel::kernels {
namespace {

template <class Y>
Y stored(const SoftmaxSpec& spec, double value) noexcept {
  const auto real = static_cast<float>(value);
  if constexpr (std::is_same_v<Y, float>) return real;
  else return saturate<Y>(round_float(real * power_of_two(-spec.y_exponent), spec.rounding));
}

template <class X, class Y>
void row(const SoftmaxSpec& spec, const X* x, Y* y, double* powers) noexcept {
  const std::size_t step = spec.inner;
  X largest = x[0];
  for (std::size_t i = 1; i < spec.count; ++i) {
    if (x[i * step] > largest) largest = x[i * step];
  }
  const double scale = std::is_same_v<X, float> ? 1.0 : static_cast<double>(power_of_two(spec.x_exponent));
  for (std::size_t i = 0; i < spec.count; ++i) powers[i] = (static_cast<double>(x[i * step]) - static_cast<double>(largest)) * scale;
  double sum = 0;
  if (spec.logarithm) {
    for (std::size_t i = 0; i < spec.count; ++i) sum += exp_of(powers[i]);
    const double log_sum = log_of(sum);
    for (std::size_t i = 0; i < spec.count; ++i) y[i * step] = stored<Y>(spec, powers[i] - log_sum);
    return;
  }
  for (std::size_t i = 0; i < spec.count; ++i) powers[i] = exp_of(powers[i]);
  for (std::size_t i = 0; i < spec.count; ++i) sum += powers[i];
  for (std::size_t i = 0; i < spec.count; ++i) y[i * step] = stored<Y>(spec, powers[i] / sum);
}

template <class X, class Y>
void rows(const SoftmaxSpec& spec, const X* x, Y* y, double* scratch) noexcept {
  for (std::size_t o = 0; o < spec.outer; ++o, x += spec.count * spec.inner, y += spec.count * spec.inner) {
    for (std::size_t i = 0; i < spec.inner; ++i) row(spec, x + i, y + i, scratch);
  }
}

template <class X>
void from(const SoftmaxSpec& spec, const X* x, void* y, double* scratch) noexcept {
  if (spec.to == DType::int8) rows(spec, x, static_cast<std::int8_t*>(y), scratch);
  else if (spec.to == DType::int16) rows(spec, x, static_cast<std::int16_t*>(y), scratch);
  else rows(spec, x, static_cast<float*>(y), scratch);
}

}  // namespace

void softmax(const SoftmaxSpec& spec, const void* x, void* y, double* scratch) noexcept {
  if (spec.from == DType::int8) from(spec, static_cast<const std::int8_t*>(x), y, scratch);
  else if (spec.from == DType::int16) from(spec, static_cast<const std::int16_t*>(x), y, scratch);
  else from(spec, static_cast<const float*>(x), y, scratch);
}

}  // namespace runnel::kernels
