// The float kernels as loops over vectors of W lanes. Included once by each float_kernels_<level>.cpp, which is compiled for that level's
// instructions: everything is in an unnamed namespace, so that no copy reaches other files.
#pragma once

#include "kernels/float_functions.h"
#include "kernels/float_levels.h"

namespace runnel::kernels {
namespace {

// Bias, ReLU and the store of one vector of results; `count`: columns that exist.
template <int W>
RUNNEL_LANES_INLINE void finish(F<W> sum, const float* bias, bool relu, float* y, std::int64_t count) {
  sum = sum + load<W>(bias);
  if (relu) sum = rectified<W>(sum);
  if (count >= W) store<W>(y, sum);
  else if (count > 0) store_some<W>(y, sum, static_cast<std::size_t>(count));
}

// kRows rows times a panel of kVectors vectors.
template <int W, int kRows, int kVectors>
void tile(const FloatMatrix& m, const float* w, const float* x, std::ptrdiff_t x_step, const float* bias, bool relu, float* y, std::ptrdiff_t y_step,
          std::int64_t columns) noexcept {
  const std::int32_t length = m.inner / m.segments;
  F<W> total[kRows][kVectors] = {};      // 0 + x is x but for the sign of a zero, which the bias settles
  for (std::int32_t segment = 0; segment < m.segments; ++segment) {
    F<W> sum[kRows][kVectors] = {};
    const std::int64_t end = segment + 1 == m.segments ? m.inner : std::int64_t{segment + 1} * length;
    for (std::int64_t k = std::int64_t{segment} * length; k < end; ++k, w += W * kVectors) {
      F<W> weights[kVectors];
      for (int v = 0; v < kVectors; ++v) weights[v] = load<W>(w + v * W);
      for (int r = 0; r < kRows; ++r) {
        const F<W> value = splat<W>(x[r * x_step + k]);
        for (int v = 0; v < kVectors; ++v) sum[r][v] = fma<W>(value, weights[v], sum[r][v]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) total[r][v] = total[r][v] + sum[r][v];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) finish<W>(total[r][v], bias + v * W, relu, y + r * y_step + v * W, columns - v * W);
  }
}

// One row. kChains pieces of `length` products at a time, so that no sum waits for the one before: segments of one panel, or panels.
template <int W, int kVectors, int kChains>
RUNNEL_LANES_INLINE void chains(std::int64_t length, const float* x, std::ptrdiff_t x_step, const float* w, std::ptrdiff_t w_step, F<W> (&sum)[kChains][kVectors]) {
  for (int c = 0; c < kChains; ++c) {
    for (int v = 0; v < kVectors; ++v) sum[c][v] = splat<W>(0);
  }
  for (std::int64_t k = 0; k < length; ++k, w += W * kVectors) {
    for (int c = 0; c < kChains; ++c) {
      const F<W> value = splat<W>(x[c * x_step + k]);
      for (int v = 0; v < kVectors; ++v) sum[c][v] = fma<W>(value, load<W>(w + c * w_step + v * W), sum[c][v]);
    }
  }
}

// One row times one panel in kSegments segments.
template <int W, int kVectors, int kSegments>
void row_segments(const FloatMatrix& m, const float* w, const float* x, const float* bias, bool relu, float* y, std::int64_t columns) noexcept {
  F<W> sum[kSegments][kVectors];
  const std::int64_t length = m.inner / kSegments;
  chains<W, kVectors, kSegments>(length, x, length, w, length * kVectors * W, sum);
  for (std::int64_t k = length * kSegments; k < m.inner; ++k) {
    const F<W> value = splat<W>(x[k]);
    for (int v = 0; v < kVectors; ++v) sum[kSegments - 1][v] = fma<W>(value, load<W>(w + (k * kVectors + v) * W), sum[kSegments - 1][v]);
  }
  for (int v = 0; v < kVectors; ++v) {
    F<W> total = sum[0][v];
    for (int s = 1; s < kSegments; ++s) total = total + sum[s][v];
    finish<W>(total, bias + v * W, relu, y + v * W, columns - v * W);
  }
}

// One row times kPanels neighbouring panels, one segment.
template <int W, int kVectors, int kPanels>
void row_panels(const FloatMatrix& m, const float* w, const float* x, const float* bias, bool relu, float* y, std::int64_t columns) noexcept {
  F<W> sum[kPanels][kVectors];
  chains<W, kVectors, kPanels>(m.inner, x, 0, w, std::int64_t{m.inner} * kVectors * W, sum);
  for (int c = 0; c < kPanels; ++c) {
    for (int v = 0; v < kVectors; ++v) {
      const int at = (c * kVectors + v) * W;
      finish<W>(sum[c][v], bias + at, relu, y + at, columns - at);
    }
  }
}

// One row times `panels` neighbouring panels of kVectors vectors.
template <int W, int kVectors>
void one_row(const FloatMatrix& m, std::int64_t panels, const float* w, const float* x, const float* bias, bool relu, float* y, std::int64_t columns) noexcept {
  constexpr int kTogether = kVectors >= 3 ? 2 : kVectors == 2 ? 4 : 8;
  const std::int64_t panel = std::int64_t{m.inner} * kVectors * W;
  while (panels > 0) {
    std::int64_t done = 1;
    if (m.segments == 8) row_segments<W, kVectors, 8>(m, w, x, bias, relu, y, columns);
    else if (m.segments == 4) row_segments<W, kVectors, 4>(m, w, x, bias, relu, y, columns);
    else if (m.segments == 2) row_segments<W, kVectors, 2>(m, w, x, bias, relu, y, columns);
    else if (kVectors == 3 && panels % 2 != 0 && panels >= 3) row_panels<W, kVectors, 3>(m, w, x, bias, relu, y, columns), done = 3;
    else if (panels >= kTogether) row_panels<W, kVectors, kTogether>(m, w, x, bias, relu, y, columns), done = kTogether;
    else if (panels >= 2) row_panels<W, kVectors, 2>(m, w, x, bias, relu, y, columns), done = 2;
    else row_panels<W, kVectors, 1>(m, w, x, bias, relu, y, columns);
    panels -= done;
    w += done * panel;
    bias += done * kVectors * W;
    y += done * kVectors * W;
    columns -= done * kVectors * W;
  }
}

// All rows times one panel.
template <int W, int kVectors, int kMostRows>
void panel_rows(const FloatMatrix& m, std::int64_t rows, const float* w, const float* x, std::ptrdiff_t x_step, const float* bias, bool relu, float* y,
                std::ptrdiff_t y_step, std::int64_t columns) noexcept {
  // Tiles of nearly equal size.
  std::int64_t tiles = (rows + kMostRows - 1) / kMostRows;
  for (; tiles > 0; --tiles) {
    const std::int64_t n = (rows + tiles - 1) / tiles;
    switch (n) {
      case 1: tile<W, 1, kVectors>(m, w, x, x_step, bias, relu, y, y_step, columns); break;
      case 2: tile<W, 2, kVectors>(m, w, x, x_step, bias, relu, y, y_step, columns); break;
      case 3: tile<W, 3, kVectors>(m, w, x, x_step, bias, relu, y, y_step, columns); break;
      case 4: tile<W, 4, kVectors>(m, w, x, x_step, bias, relu, y, y_step, columns); break;
      case 5:
        if constexpr (kMostRows >= 5) tile<W, 5, kVectors>(m, w, x, x_step, bias, relu, y, y_step, columns);
        break;
      default:
        if constexpr (kMostRows >= 6) tile<W, 6, kVectors>(m, w, x, x_step, bias, relu, y, y_step, columns);
        break;
    }
    rows -= n;
    x += n * x_step;
    y += n * y_step;
  }
}

// Panels as pack_float_matrix() lays them: as many as are needed when none is wider than kPanel vectors, the first ones one vector wider
// than the others.
template <int W, int kPanel, int kMostRows>
void product(const FloatMatrix& m, std::int64_t rows, const float* x, std::ptrdiff_t x_step, float* y, std::ptrdiff_t y_step, bool relu) noexcept {
  const std::int64_t vectors = (m.columns + W - 1) / W, panels = (vectors + kPanel - 1) / kPanel, narrow = vectors / panels, wide_panels = vectors % panels;
  const float* w = m.packed;
  std::int64_t at = 0;
  const auto run = [&]<int kVectors>(std::int64_t count) __attribute__((always_inline)) {
    if constexpr (kVectors <= kPanel) {
      const std::int64_t panel = std::int64_t{m.inner} * kVectors * W;
      if (rows == 1) {
        one_row<W, kVectors>(m, count, w, x, m.bias + at, relu, y + at, m.columns - at);
        w += count * panel;
        at += count * kVectors * W;
        return;
      }
      for (std::int64_t i = 0; i < count; ++i, w += panel, at += kVectors * W) {
        panel_rows<W, kVectors, kMostRows>(m, rows, w, x, x_step, m.bias + at, relu, y + at, y_step, m.columns - at);
      }
    }
  };
  const auto choose = [&](std::int64_t width, std::int64_t count) __attribute__((always_inline)) {
    switch (width) {
      case 1: run.template operator()<1>(count); break;
      case 2: run.template operator()<2>(count); break;
      case 3: run.template operator()<3>(count); break;
      default: run.template operator()<4>(count); break;
    }
  };
  if (wide_panels > 0) choose(narrow + 1, wide_panels);
  choose(narrow, panels - wide_panels);
}

// One position: taps [i0, i1) x [j0, j1) lie in the input.
struct Taps {
  std::int64_t i0, i1, j0, j1;
};
template <int W, int kVectors>
RUNNEL_LANES_INLINE void depthwise_vectors(const FloatDepthwise& s, const Taps& taps, const float* x, std::int64_t row_step, std::int64_t column_step, std::int64_t c, float* y) {
  F<W> sum[kVectors] = {};
  for (std::int64_t i = taps.i0; i < taps.i1; ++i) {
    const float* in = x + i * row_step + taps.j0 * column_step + c;
    const float* w = s.weights + (i * s.kernel_width + taps.j0) * s.channels + c;
    for (std::int64_t j = taps.j0; j < taps.j1; ++j, in += column_step, w += s.channels) {
      for (int v = 0; v < kVectors; ++v) sum[v] = fma<W>(load<W>(in + v * W), load<W>(w + v * W), sum[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) finish<W>(sum[v], s.bias + c + v * W, s.relu, y + c + v * W, W);
}
template <int W>
void depthwise(const FloatDepthwise& s, const float* x, float* y) noexcept {
  const std::int64_t row_step = std::int64_t{s.dilation_height} * s.in_width * s.channels, column_step = std::int64_t{s.dilation_width} * s.channels;
  const auto inside = [](std::int64_t start, std::int64_t kernel, std::int64_t dilation, std::int64_t size, std::int64_t& first, std::int64_t& last) {
    first = start < 0 ? (-start + dilation - 1) / dilation : 0;
    last = size > start ? (size - start + dilation - 1) / dilation : 0;
    if (last > kernel) last = kernel;
    if (first > last) first = last;
  };
  for (std::int64_t row = 0; row < s.out_height; ++row) {
    Taps taps;
    const std::int64_t top = row * s.stride_height - s.pad_top;
    inside(top, s.kernel_height, s.dilation_height, s.in_height, taps.i0, taps.i1);
    for (std::int64_t column = 0; column < s.out_width; ++column, y += s.channels) {
      const std::int64_t left = column * s.stride_width - s.pad_left;
      inside(left, s.kernel_width, s.dilation_width, s.in_width, taps.j0, taps.j1);
      const float* in = x + (top * s.in_width + left) * s.channels;
      std::int64_t c = 0;
      for (; c + 4 * W <= s.channels; c += 4 * W) depthwise_vectors<W, 4>(s, taps, in, row_step, column_step, c, y);
      for (; c + W <= s.channels; c += W) depthwise_vectors<W, 1>(s, taps, in, row_step, column_step, c, y);
      for (; c < s.channels; ++c) depthwise_vectors<1, 1>(s, taps, in, row_step, column_step, c, y);
    }
  }
}

template <int W, int kPanel, int kMostRows>
constexpr FloatKernels table() noexcept {
  return {W, kPanel, product<W, kPanel, kMostRows>, depthwise<W>, lstm_gates<W>, gru_gates<W>, exp_loop<W>, sigmoid_loop<W>, tanh_loop<W>, swish_loop<W>, sqrt_loop<W>};
}

}  // namespace
}  // namespace runnel::kernels
