#include "kernels/softmax.h"

#include <array>
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

// One row along the axis, whose elements are `step` apart.
template <class X, class Y>
struct Row {
  const SoftmaxSpec& spec;
  const FloatPairKernels& kernels;
  const X* x;
  Y* y;
  float *high, *low;  // [count] each: the terms
  X largest{};

  // Contiguous floats are read in place.
  const float* differences(float& from) const noexcept {
    const std::size_t step = spec.inner;
    if constexpr (std::is_same_v<X, float>) {
      from = largest;
      if (step == 1) return x;
      for (std::size_t i = 0; i < spec.count; ++i) high[i] = x[i * step];
    } else {
      // Differences of integers are exact.
      const float scale = power_of_two(spec.x_exponent);
      from = 0;
      for (std::size_t i = 0; i < spec.count; ++i)
        high[i] = static_cast<float>(std::int32_t{x[i * step]} - largest) * scale;
    }
    return high;
  }
  void make_terms() noexcept {
    if constexpr (std::is_same_v<X, float>) {
      if (spec.inner == 1) largest = kernels.largest(spec.count, x);
    }
    if (!std::is_same_v<X, float> || spec.inner != 1) {
      largest = x[0];
      for (std::size_t i = 1; i < spec.count; ++i)
        largest = x[i * spec.inner] > largest ? x[i * spec.inner] : largest;
    }
    float from = 0;
    const float* const in = differences(from);
    kernels.exp_terms(spec.count, in, from, high, low);
  }
  void finish(const FloatSum& sum) const noexcept {
    float* out = high;
    if constexpr (std::is_same_v<Y, float>) {
      if (spec.inner == 1) out = y;
    }
    if (spec.logarithm) {
      float from = 0;
      const float* const in = differences(from);
      kernels.log_shares(spec.count, in, from, sum.sum, sum.rest, out);
    } else {
      kernels.shares(spec.count, high, low, sum.sum, sum.rest, out);
    }
    if constexpr (std::is_same_v<Y, float>) {
      if (spec.inner == 1) return;
    }
    for (std::size_t i = 0; i < spec.count; ++i) y[i * spec.inner] = stored<Y>(spec, out[i]);
  }
};

template <class X, class Y>
void rows(const SoftmaxSpec& spec, const X* x, Y* y, float* scratch) noexcept {
  const FloatPairKernels& kernels = float_pair_kernels(spec.isa);
  const std::size_t together = spec.together(), count = spec.count, all = spec.outer * spec.inner;
  float *const high = scratch, *const low = scratch + together * count;
  const auto row = [&](std::size_t index, std::size_t place) {
    const std::size_t at = index / spec.inner * spec.inner * count + index % spec.inner;
    return Row<X, Y>{spec, kernels, x + at, y + at, high + place * count, low + place * count};
  };
  for (std::size_t first = 0; first < all; first += together) {
    const std::size_t some = all - first < together ? all - first : together;
    std::array<X, kSumLanes> largest;
    for (std::size_t r = 0; r < some; ++r) {
      Row<X, Y> one = row(first + r, r);
      one.make_terms();
      largest[r] = one.largest;
    }
    std::array<FloatSum, kSumLanes> sums;
    kernels.add_terms(some, count, high, low, sums.data());
    for (std::size_t r = 0; r < some; ++r) {
      Row<X, Y> one = row(first + r, r);
      one.largest = largest[r];
      one.finish(sums[r]);
    }
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

std::size_t SoftmaxSpec::together() const noexcept {
  const std::size_t all = outer * inner;
  return isa < Isa::avx2 ? 1 : all < kSumLanes ? all : kSumLanes;
}

void softmax(const SoftmaxSpec& spec, const void* x, void* y, float* scratch) noexcept {
  if (spec.from == DType::int8)
    from(spec, static_cast<const std::int8_t*>(x), y, scratch);
  else if (spec.from == DType::int16)
    from(spec, static_cast<const std::int16_t*>(x), y, scratch);
  else
    from(spec, static_cast<const float*>(x), y, scratch);
}

}  // namespace runnel::kernels
