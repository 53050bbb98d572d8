#include "kernels/matmul.h"

#include <algorithm>

namespace runnel::kernels {
namespace {

// Row by row, all columns at once: the inner loop runs along memory and becomes a vector loop.
template <class T, class Sum>
void integers(const MatmulSpec& spec, const T* a, const T* b, T* y, Sum* sums) noexcept {
  const auto columns = static_cast<std::size_t>(spec.columns), inner = static_cast<std::size_t>(spec.inner);
  for (std::int32_t row = 0; row < spec.rows; ++row, a += inner, y += columns) {
    std::fill_n(sums, columns, Sum{0});
    for (std::size_t k = 0; k < inner; ++k) {
      const std::int32_t factor = a[k];
      if (factor == 0) continue;
      const T* line = b + k * columns;
      // |products| <= 2^30
      for (std::size_t n = 0; n < columns; ++n) sums[n] += static_cast<Sum>(factor * std::int32_t{line[n]});
    }
    for (std::size_t n = 0; n < columns; ++n) {
      const std::int64_t value =
          round_shift(sums[n], spec.shift[spec.shift_count == 1 ? 0 : n], spec.rounding);
      y[n] = static_cast<T>(value < spec.low ? spec.low : value > spec.high ? spec.high : value);
    }
  }
}

template <class T>
void affine(const MatmulSpec& spec, const T* a, const T* b, T* y, std::int64_t* sums) noexcept {
  const auto columns = static_cast<std::size_t>(spec.columns), inner = static_cast<std::size_t>(spec.inner);
  for (std::int32_t row = 0; row < spec.rows; ++row, a += inner, y += columns) {
    std::fill_n(sums, columns, std::int64_t{0});
    for (std::size_t k = 0; k < inner; ++k) {
      const std::int64_t factor = a[k] - spec.a_zero;
      const T* line = b + k * columns;
      for (std::size_t n = 0; n < columns; ++n) sums[n] += factor * (line[n] - spec.b_zero);
    }
    for (std::size_t n = 0; n < columns; ++n) {
      const std::int64_t value = spec.multiplier(sums[n]) + spec.y_zero;
      y[n] = static_cast<T>(value < spec.low ? spec.low : value > spec.high ? spec.high : value);
    }
  }
}

void floats(const MatmulSpec& spec, const float* a, const float* b, float* __restrict y) noexcept {
  const auto columns = static_cast<std::size_t>(spec.columns), inner = static_cast<std::size_t>(spec.inner);
  for (std::int32_t row = 0; row < spec.rows; ++row, a += inner, y += columns) {
    std::fill_n(y, columns, 0.0f);
    std::size_t k = 0;
    for (; k + 4 <= inner; k += 4) {  // products in order, with y read and written once
      const float a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
      const float* b0 = b + k * columns;
      const float *b1 = b0 + columns, *b2 = b1 + columns, *b3 = b2 + columns;
      for (std::size_t n = 0; n < columns; ++n)
        y[n] = (((y[n] + a0 * b0[n]) + a1 * b1[n]) + a2 * b2[n]) + a3 * b3[n];
    }
    for (; k < inner; ++k) {
      const float factor = a[k];
      const float* line = b + k * columns;
      for (std::size_t n = 0; n < columns; ++n) y[n] += factor * line[n];
    }
    if (!spec.relu) continue;
    for (std::size_t n = 0; n < columns; ++n) y[n] = y[n] < 0 ? 0.0f : y[n];
  }
}

}  // namespace

std::size_t matmul_scratch(const MatmulSpec& spec) noexcept {
  if (spec.dtype == DType::float32) return 0;
  // Sums of four rows, and the rows as 16 bits.
  if (spec.vectors != nullptr && spec.dtype == DType::int8)
    return 4 * (static_cast<std::size_t>(spec.columns) * sizeof(std::int32_t) +
                static_cast<std::size_t>(spec.inner) * sizeof(std::int16_t));
  return static_cast<std::size_t>(spec.columns) *
         (spec.dtype == DType::int8 && !spec.affine ? sizeof(std::int32_t) : sizeof(std::int64_t));
}

template <class T, bool kAffine>
void matmul_as(const MatmulSpec& spec, const void* a, const void* b, void* y, void* scratch) noexcept {
  const auto *left = static_cast<const T*>(a), *right = static_cast<const T*>(b);
  if constexpr (kAffine)
    affine(spec, left, right, static_cast<T*>(y), static_cast<std::int64_t*>(scratch));
  else if constexpr (sizeof(T) == 1)
    integers(spec, left, right, static_cast<T*>(y), static_cast<std::int32_t*>(scratch));
  else
    integers(spec, left, right, static_cast<T*>(y), static_cast<std::int64_t*>(scratch));
}
template void matmul_as<std::int8_t, false>(const MatmulSpec&, const void*, const void*, void*,
                                            void*) noexcept;
template void matmul_as<std::int8_t, true>(const MatmulSpec&, const void*, const void*, void*,
                                           void*) noexcept;
template void matmul_as<std::int16_t, false>(const MatmulSpec&, const void*, const void*, void*,
                                             void*) noexcept;
template void matmul_as<std::int16_t, true>(const MatmulSpec&, const void*, const void*, void*,
                                            void*) noexcept;

void matmul(const MatmulSpec& spec, const void* a, const void* b, void* y, void* scratch) noexcept {
  if (spec.vectors != nullptr) {
    spec.vectors(spec, a, b, y, scratch);
  } else if (spec.dtype == DType::int8) {
    spec.affine ? matmul_as<std::int8_t, true>(spec, a, b, y, scratch)
                : matmul_as<std::int8_t, false>(spec, a, b, y, scratch);
  } else if (spec.dtype == DType::int16) {
    spec.affine ? matmul_as<std::int16_t, true>(spec, a, b, y, scratch)
                : matmul_as<std::int16_t, false>(spec, a, b, y, scratch);
  } else if (spec.kernels != nullptr) {
    spec.kernels->pair_product(spec.rows, spec.inner, spec.columns, static_cast<const float*>(a),
                               static_cast<const float*>(b), static_cast<float*>(y), spec.relu);
  } else {
    floats(spec, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(y));
  }
}

}  // namespace runnel::kernels
