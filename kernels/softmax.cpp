#include "kernels/softmax.h"

#include <type_traits>

#include "kernels/float32/float_pair_kernels.h"
#include "kernels/float32/float_sum.h"

namespace runnel::kernels {
namespace {

template <class Y>
Y stored(const SoftmaxSpec& spec, float real) noexcept {
  if constexpr (std::is_same_v<Y, float>)
    return real;
  else
    return saturate<Y>(round_float(real * power_of_two(-spec.y_exponent), spec.rounding));
}

template <class X, class Y>
void row(const SoftmaxSpec& spec, const X* x, Y* y, float* high) noexcept {
  const FloatPairKernels& kernels = float_pair_kernels(spec.isa);
  const std::size_t step = spec.inner;
  float* const low = high + spec.count;
  X largest = x[0];
  for (std::size_t i = 1; i < spec.count; ++i) {
    if (x[i * step] > largest) largest = x[i * step];
  }
  // Contiguous floats are read in place. Differences of integers are exact.
  const float* in = high;
  float* out = high;
  float from = 0;
  const auto gather = [&] {
    if constexpr (std::is_same_v<X, float>) {
      from = largest;
      if (step == 1)
        in = x;
      else
        for (std::size_t i = 0; i < spec.count; ++i) high[i] = x[i * step];
    } else {
      const float scale = power_of_two(spec.x_exponent);
      for (std::size_t i = 0; i < spec.count; ++i)
        high[i] = static_cast<float>(std::int32_t{x[i * step]} - largest) * scale;
    }
  };
  if constexpr (std::is_same_v<Y, float>) {
    if (step == 1) out = y;
  }
  gather();
  kernels.exp_terms(spec.count, in, from, high, low);
  FloatSum sum;
  for (std::size_t i = 0; i < spec.count; ++i) {
    sum.add(high[i]);
    sum.rest += low[i];
  }
  if (spec.logarithm) {
    gather();
    kernels.log_shares(spec.count, in, from, sum.sum, sum.rest, out);
  } else {
    kernels.shares(spec.count, high, low, sum.sum, sum.rest, out);
  }
  if constexpr (std::is_same_v<Y, float>) {
    if (step == 1) return;
  }
  for (std::size_t i = 0; i < spec.count; ++i) y[i * step] = stored<Y>(spec, out[i]);
}

template <class X, class Y>
void rows(const SoftmaxSpec& spec, const X* x, Y* y, float* scratch) noexcept {
  for (std::size_t o = 0; o < spec.outer; ++o, x += spec.count * spec.inner, y += spec.count * spec.inner) {
    for (std::size_t i = 0; i < spec.inner; ++i) row(spec, x + i, y + i, scratch);
  }
}

template <class X>
void from(const SoftmaxSpec& spec, const X* x, void* y, float* scratch) noexcept {
  if (spec.to == DType::int8)
    rows(spec, x, static_cast<std::int8_t*>(y), scratch);
  else if (spec.to == DType::int16)
    rows(spec, x, static_cast<std::int16_t*>(y), scratch);
  else
    rows(spec, x, static_cast<float*>(y), scratch);
}

}  // namespace

void softmax(const SoftmaxSpec& spec, const void* x, void* y, float* scratch) noexcept {
  if (spec.from == DType::int8)
    from(spec, static_cast<const std::int8_t*>(x), y, scratch);
  else if (spec.from == DType::int16)
    from(spec, static_cast<const std::int16_t*>(x), y, scratch);
  else
    from(spec, static_cast<const float*>(x), y, scratch);
}

}  // namespace runnel::kernels
