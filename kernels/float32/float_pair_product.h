// The product of two computed matrices of floats on vectors. Only for float_loops.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/float32/float_lanes.h"

namespace runnel::kernels {
namespace {

// kRows rows of y times kVectors vectors of columns, the last with `last` lanes. Every product is rounded
// before it is added, in the order of k. kRows * kVectors sums hide the latency of the additions; the floor
// is two instructions for each vector of products.
template <int W, int kRows, int kVectors>
RUNNEL_LANES_INLINE void pair_tile(std::int64_t inner, std::int64_t columns, const float* a, const float* b,
                                   float* y, std::size_t last, bool relu) noexcept {
  F<W> sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = splat<W>(0);
  }
  const bool whole = last == W;
  for (std::int64_t k = 0; k < inner; ++k, b += columns) {
    F<W> line[kVectors];
    for (int v = 0; v < kVectors; ++v)
      line[v] = v + 1 < kVectors || whole ? load<W>(b + v * W) : load_some<W>(b + v * W, last);
    for (int r = 0; r < kRows; ++r) {
      const F<W> factor = splat<W>(a[r * inner + k]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = sum[r][v] + factor * line[v];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      F<W> value = sum[r][v];
      if (relu) value = value < splat<W>(0) ? splat<W>(0) : value;
      if (v + 1 < kVectors || whole)
        store<W>(y + r * columns + v * W, value);
      else
        store_some<W>(y + r * columns + v * W, value, last);
    }
  }
}

template <int W, int kRows>
void pair_rows(std::int64_t inner, std::int64_t columns, const float* a, const float* b, float* y,
               bool relu) noexcept {
  constexpr int kWidest = W > 1 ? 4 : 1;
  std::int64_t column = 0;
  const auto left = [&] { return columns - column; };
  for (; left() >= kWidest * W; column += kWidest * W)
    pair_tile<W, kRows, kWidest>(inner, columns, a, b + column, y + column, W, relu);
  if constexpr (W > 1) {
    const auto last = static_cast<std::size_t>(left() % W == 0 ? W : left() % W);
    switch ((left() + W - 1) / W) {
      case 4:
        return pair_tile<W, kRows, 4>(inner, columns, a, b + column, y + column, last, relu);
      case 3:
        return pair_tile<W, kRows, 3>(inner, columns, a, b + column, y + column, last, relu);
      case 2:
        return pair_tile<W, kRows, 2>(inner, columns, a, b + column, y + column, last, relu);
      case 1:
        return pair_tile<W, kRows, 1>(inner, columns, a, b + column, y + column, last, relu);
      default:
        return;
    }
  }
}

template <int W>
void pair_product(std::int64_t rows, std::int64_t inner, std::int64_t columns, const float* a, const float* b,
                  float* y, bool relu) noexcept {
  constexpr int kTogether = W >= 16 ? 6 : 2;  // registers for the sums
  for (; rows >= kTogether; rows -= kTogether, a += kTogether * inner, y += kTogether * columns)
    pair_rows<W, kTogether>(inner, columns, a, b, y, relu);
  for (; rows > 0; --rows, a += inner, y += columns) pair_rows<W, 1>(inner, columns, a, b, y, relu);
}

}  // namespace
}  // namespace runnel::kernels
