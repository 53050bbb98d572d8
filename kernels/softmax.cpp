#include "kernels/softmax.h"

#include <array>
#include <cstddef>

#include "kernels/float32/float_pair_kernels.h"
#include "kernels/float32/float_sum.h"

namespace runnel::kernels {
namespace {

template <class X>
X largest_of(const SoftmaxSpec& spec, const X* x) noexcept {
  X largest = x[0];
  for (std::size_t i = 1; i < spec.count; ++i)
    largest = x[i * spec.inner] > largest ? x[i * spec.inner] : largest;
  return largest;
}

// Differences of integers are exact.
template <class X>
void subtract_largest(const SoftmaxSpec& spec, const void* row, float* differences) noexcept {
  const auto* const x = static_cast<const X*>(row);
  const X largest = largest_of(spec, x);
  const float scale = power_of_two(spec.x_exponent);
  for (std::size_t i = 0; i < spec.count; ++i)
    differences[i] = static_cast<float>(std::int32_t{x[i * spec.inner]} - largest) * scale;
}

template <class Y>
void store_rounded(const SoftmaxSpec& spec, const float* values, void* row) noexcept {
  auto* const y = static_cast<Y*>(row);
  const float scale = power_of_two(-spec.y_exponent);
  for (std::size_t i = 0; i < spec.count; ++i)
    y[i * spec.inner] = saturate<Y>(round_float(values[i] * scale, spec.rounding));
}

// One row along the axis, whose elements are `inner` apart. Its steps work on floats; types are looked at
// only where a row is read and written, so that they cost no copies of the code.
struct Row {
  const SoftmaxSpec& spec;
  const FloatPairKernels& kernels;
  const void* x;
  void* y;
  float *high, *low;  // [count] each: the terms

  // What the terms are exponentials of, less `from`. Contiguous floats are read in place.
  const float* differences(float& from) const noexcept {
    from = 0;
    if (spec.from == DType::int8) {
      subtract_largest<std::int8_t>(spec, x, high);
    } else if (spec.from == DType::int16) {
      subtract_largest<std::int16_t>(spec, x, high);
    } else {
      const auto* const values = static_cast<const float*>(x);
      if (spec.inner == 1) {
        from = kernels.largest(spec.count, values);
        return values;
      }
      from = largest_of(spec, values);
      for (std::size_t i = 0; i < spec.count; ++i) high[i] = values[i * spec.inner];
    }
    return high;
  }
  void make_terms() const noexcept {
    float from = 0;
    const float* const in = differences(from);
    kernels.exp_terms(spec.count, in, from, high, low);
  }
  void finish(const FloatSum& sum) const noexcept {
    const bool in_place = spec.to == DType::float32 && spec.inner == 1;
    float* const out = in_place ? static_cast<float*>(y) : high;
    if (spec.logarithm) {
      float from = 0;
      const float* const in = differences(from);
      kernels.log_shares(spec.count, in, from, sum.sum, sum.rest, out);
    } else {
      kernels.shares(spec.count, high, low, sum.sum, sum.rest, out);
    }
    if (in_place) return;
    if (spec.to == DType::int8) {
      store_rounded<std::int8_t>(spec, out, y);
    } else if (spec.to == DType::int16) {
      store_rounded<std::int16_t>(spec, out, y);
    } else {
      for (std::size_t i = 0; i < spec.count; ++i) static_cast<float*>(y)[i * spec.inner] = out[i];
    }
  }
};

}  // namespace

std::size_t SoftmaxSpec::together() const noexcept {
  const std::size_t all = outer * inner;
  return isa < Isa::avx2 ? 1 : all < kSumLanes ? all : kSumLanes;
}

void softmax(const SoftmaxSpec& spec, const void* x, void* y, float* scratch) noexcept {
  const FloatPairKernels& kernels = float_pair_kernels(spec.isa);
  const std::size_t together = spec.together(), count = spec.count, all = spec.outer * spec.inner;
  float *const high = scratch, *const low = scratch + together * count;
  const auto row = [&](std::size_t index, std::size_t place) {
    const std::size_t at = index / spec.inner * spec.inner * count + index % spec.inner;
    return Row{spec,
               kernels,
               static_cast<const std::byte*>(x) + at * size_of(spec.from),
               static_cast<std::byte*>(y) + at * size_of(spec.to),
               high + place * count,
               low + place * count};
  };
  for (std::size_t first = 0; first < all; first += together) {
    const std::size_t some = all - first < together ? all - first : together;
    for (std::size_t r = 0; r < some; ++r) row(first + r, r).make_terms();
    std::array<FloatSum, kSumLanes> sums;
    kernels.add_terms(some, count, high, low, sums.data());
    for (std::size_t r = 0; r < some; ++r) row(first + r, r).finish(sums[r]);
  }
}

}  // namespace runnel::kernels
