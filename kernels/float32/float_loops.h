// The float kernels as loops over vectors of W lanes. Included once by each float_kernels_<level>.cpp,
// compiled for that level's instructions; everything is in an unnamed namespace: no copy reaches other files.
#pragma once

#include <type_traits>

#include "kernels/float32/float_functions.h"
#include "kernels/float32/float_levels.h"
#include "kernels/float32/float_pair_product.h"

namespace runnel::kernels {
namespace {

// Adds the bias, keeps the limits and stores one vector of results; `count`: columns that exist.
template <int W>
RUNNEL_LANES_INLINE void finish(F<W> sum, const float* bias, const FloatLimits& limits, float* y,
                                std::int64_t count) {
  const F<W> low = splat<W>(limits.low), high = splat<W>(limits.high);
  sum = sum + load<W>(bias);
  sum = sum < low ? low : sum;  // NaN and -0 stay
  sum = sum > high ? high : sum;
  if (count >= W)
    store<W>(y, sum);
  else if (count > 0)
    store_some<W>(y, sum, static_cast<std::size_t>(count));
}

// Where the factors of a row are.
struct Neighbours {
  RUNNEL_LANES_INLINE std::int64_t operator()(std::int64_t k) const { return k; }
};
struct Places {
  const std::int32_t* at;
  RUNNEL_LANES_INLINE std::int64_t operator()(std::int64_t k) const { return at[k]; }
};

// sum = products [begin, end) of kRows rows with a panel of kVectors vectors.
template <int W, int kRows, int kVectors, class Place>
RUNNEL_LANES_INLINE void piece(const float* w, const float* x, std::ptrdiff_t x_step, Place place,
                               std::int64_t begin, std::int64_t end, F<W> (&sum)[kRows][kVectors]) {
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = splat<W>(0);
  }
  w += begin * W * kVectors;
  for (std::int64_t k = begin; k < end; ++k, w += W * kVectors) {
    F<W> weights[kVectors];
    for (int v = 0; v < kVectors; ++v) weights[v] = in_register<W>(load<W>(w + v * W));
    const float* const factors = x + place(k);
    for (int r = 0; r < kRows; ++r) {
      const F<W> value = splat<W>(factors[r * x_step]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = fma<W>(value, weights[v], sum[r][v]);
    }
  }
}

// kRows rows times a panel of kVectors vectors, in one segment or in several.
template <int W, int kRows, int kVectors, bool kOne, class Place>
void tile(const FloatMatrix& m, const float* w, const float* x, std::ptrdiff_t x_step, Place place,
          const float* bias, const FloatLimits& limits, float* y, std::ptrdiff_t y_step,
          std::int64_t columns) noexcept {
  F<W> total[kRows][kVectors];
  const std::int64_t length = kOne ? m.inner : m.inner / m.segments;
  piece<W, kRows, kVectors>(w, x, x_step, place, 0, length, total);
  if constexpr (!kOne) {
    for (std::int32_t segment = 1; segment < m.segments; ++segment) {
      F<W> sum[kRows][kVectors];
      piece<W, kRows, kVectors>(w, x, x_step, place, segment * length,
                                segment + 1 == m.segments ? m.inner : (segment + 1) * length, sum);
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) total[r][v] = total[r][v] + sum[r][v];
      }
    }
  }
  if (columns >= W * kVectors) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v)
        finish<W>(total[r][v], bias + v * W, limits, y + r * y_step + v * W, W);
    }
    return;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v)
      finish<W>(total[r][v], bias + v * W, limits, y + r * y_step + v * W, columns - v * W);
  }
}

// One row, kChains pieces of `length` products at a time, so that no sum waits for the previous one: segments
// of one panel, or panels.
template <int W, int kVectors, int kChains>
RUNNEL_LANES_INLINE void chains(std::int64_t length, const float* x, std::ptrdiff_t x_step, const float* w,
                                std::ptrdiff_t w_step, F<W> (&sum)[kChains][kVectors]) {
  for (int c = 0; c < kChains; ++c) {
    for (int v = 0; v < kVectors; ++v) sum[c][v] = splat<W>(0);
  }
  for (std::int64_t k = 0; k < length; ++k, w += W * kVectors) {
    for (int c = 0; c < kChains; ++c) {
      const F<W> value = splat<W>(x[c * x_step + k]);
      for (int v = 0; v < kVectors; ++v)
        sum[c][v] = fma<W>(value, load<W>(w + c * w_step + v * W), sum[c][v]);
    }
  }
}

// One row times one panel in kSegments segments.
template <int W, int kVectors, int kSegments>
void row_segments(const FloatMatrix& m, const float* w, const float* x, const float* bias,
                  const FloatLimits& limits, float* y, std::int64_t columns) noexcept {
  F<W> sum[kSegments][kVectors];
  const std::int64_t length = m.inner / kSegments;
  chains<W, kVectors, kSegments>(length, x, length, w, length * kVectors * W, sum);
  for (std::int64_t k = length * kSegments; k < m.inner; ++k) {
    const F<W> value = splat<W>(x[k]);
    for (int v = 0; v < kVectors; ++v)
      sum[kSegments - 1][v] = fma<W>(value, load<W>(w + (k * kVectors + v) * W), sum[kSegments - 1][v]);
  }
  for (int v = 0; v < kVectors; ++v) {
    F<W> total = sum[0][v];
    for (int s = 1; s < kSegments; ++s) total = total + sum[s][v];
    finish<W>(total, bias + v * W, limits, y + v * W, columns - v * W);
  }
}

// One row times kPanels neighbouring panels, one segment.
template <int W, int kVectors, int kPanels>
void row_panels(const FloatMatrix& m, const float* w, const float* x, const float* bias,
                const FloatLimits& limits, float* y, std::int64_t columns) noexcept {
  F<W> sum[kPanels][kVectors];
  chains<W, kVectors, kPanels>(m.inner, x, 0, w, std::int64_t{m.inner} * kVectors * W, sum);
  for (int c = 0; c < kPanels; ++c) {
    for (int v = 0; v < kVectors; ++v) {
      const int at = (c * kVectors + v) * W;
      finish<W>(sum[c][v], bias + at, limits, y + at, columns - at);
    }
  }
}

// One row times `panels` neighbouring panels of kVectors vectors.
template <int W, int kVectors>
void one_row(const FloatMatrix& m, std::int64_t panels, const float* w, const float* x, const float* bias,
             const FloatLimits& limits, float* y, std::int64_t columns) noexcept {
  constexpr int kTogether = kVectors >= 3 ? 2 : kVectors == 2 ? 4 : 8;
  const std::int64_t panel = std::int64_t{m.inner} * kVectors * W;
  while (panels > 0) {
    std::int64_t done = 1;
    if (m.segments == 8)
      row_segments<W, kVectors, 8>(m, w, x, bias, limits, y, columns);
    else if (m.segments == 4)
      row_segments<W, kVectors, 4>(m, w, x, bias, limits, y, columns);
    else if (m.segments == 2)
      row_segments<W, kVectors, 2>(m, w, x, bias, limits, y, columns);
    else if (kVectors == 3 && panels % 2 != 0 && panels >= 3)
      row_panels<W, kVectors, 3>(m, w, x, bias, limits, y, columns), done = 3;
    else if (panels >= kTogether)
      row_panels<W, kVectors, kTogether>(m, w, x, bias, limits, y, columns), done = kTogether;
    else if (panels >= 2)
      row_panels<W, kVectors, 2>(m, w, x, bias, limits, y, columns), done = 2;
    else
      row_panels<W, kVectors, 1>(m, w, x, bias, limits, y, columns);
    panels -= done;
    w += done * panel;
    bias += done * kVectors * W;
    y += done * kVectors * W;
    columns -= done * kVectors * W;
  }
}

// Rows of a tile, of so many sums in registers: few vectors need many rows, for as many independent sums as
// hide the latency of a multiply-add. Without vectors: less code.
template <int W, int kVectors, int kSums>
constexpr int kTileRows = kSums / kVectors < (W > 1 ? 12 : 4) ? kSums / kVectors : (W > 1 ? 12 : 4);

// All rows times one panel, in tiles of nearly equal size.
template <int W, int kVectors, int kSums, bool kOne, class Place>
void panel_rows(const FloatMatrix& m, std::int64_t rows, const float* w, const float* x,
                std::ptrdiff_t x_step, Place place, const float* bias, const FloatLimits& limits, float* y,
                std::ptrdiff_t y_step, std::int64_t columns) noexcept {
  constexpr int kMaxRows = kTileRows<W, kVectors, kSums>;
  while (rows > 0) {
    const std::int64_t tiles = (rows + kMaxRows - 1) / kMaxRows, nearly = (rows + tiles - 1) / tiles;
    // Above six, even numbers only: less code.
    const bool odd = nearly > 6 && nearly % 2 != 0;
    const std::int64_t n = !odd ? nearly : tiles > 1 ? nearly + 1 : (nearly + 1) / 2;
    const auto run = [&]<int kRows>() __attribute__((always_inline)) {
      if constexpr (kRows <= kMaxRows)
        tile<W, kRows, kVectors, kOne>(m, w, x, x_step, place, bias, limits, y, y_step, columns);
    };
    switch (n) {
      case 1:
        run.template operator()<1>();
        break;
      case 2:
        run.template operator()<2>();
        break;
      case 3:
        run.template operator()<3>();
        break;
      case 4:
        run.template operator()<4>();
        break;
      case 5:
        run.template operator()<5>();
        break;
      case 6:
        run.template operator()<6>();
        break;
      case 8:
        run.template operator()<8>();
        break;
      case 10:
        run.template operator()<10>();
        break;
      default:
        run.template operator()<12>();
        break;
    }
    rows -= n;
    x += n * x_step;
    y += n * y_step;
  }
}

// Panels as pack_float_matrix() lays them out: as few as possible of at most kPanel vectors, the first ones
// one vector wider than the others.
template <int W, int kPanel, int kSums, class Place>
RUNNEL_LANES_INLINE void all_panels(const FloatMatrix& m, std::int64_t rows, const float* x,
                                    std::ptrdiff_t x_step, Place place, float* y, std::ptrdiff_t y_step,
                                    const FloatLimits& limits) noexcept {
  const std::int64_t vectors = (m.columns + W - 1) / W, panels = (vectors + kPanel - 1) / kPanel,
                     narrow = vectors / panels, wide_panels = vectors % panels;
  const float* w = m.packed;
  std::int64_t at = 0;
  const auto run = [&]<int kVectors>(std::int64_t count) __attribute__((always_inline)) {
    if constexpr (kVectors <= kPanel) {
      const std::int64_t panel = std::int64_t{m.inner} * kVectors * W;
      if constexpr (std::is_same_v<Place, Neighbours>) {
        if (rows == 1) {
          one_row<W, kVectors>(m, count, w, x, m.bias + at, limits, y + at, m.columns - at);
          w += count * panel;
          at += count * kVectors * W;
          return;
        }
      }
      for (std::int64_t i = 0; i < count; ++i, w += panel, at += kVectors * W) {
        // Without vectors one form serves both: less code.
        if (W > 1 && m.segments == 1)
          panel_rows<W, kVectors, kSums, (W > 1)>(m, rows, w, x, x_step, place, m.bias + at, limits, y + at,
                                                  y_step, m.columns - at);
        else
          panel_rows<W, kVectors, kSums, false>(m, rows, w, x, x_step, place, m.bias + at, limits, y + at,
                                                y_step, m.columns - at);
      }
    }
  };
  const auto choose = [&](std::int64_t width, std::int64_t count) __attribute__((always_inline)) {
    switch (width) {
      case 1:
        run.template operator()<1>(count);
        break;
      case 2:
        run.template operator()<2>(count);
        break;
      case 3:
        run.template operator()<3>(count);
        break;
      default:
        run.template operator()<4>(count);
        break;
    }
  };
  if (wide_panels > 0) choose(narrow + 1, wide_panels);
  choose(narrow, panels - wide_panels);
}

template <int W, int kPanel, int kSums>
void product(const FloatMatrix& m, std::int64_t rows, const float* x, std::ptrdiff_t x_step, float* y,
             std::ptrdiff_t y_step, const FloatLimits& limits) noexcept {
  all_panels<W, kPanel, kSums>(m, rows, x, x_step, Neighbours(), y, y_step, limits);
}
template <int W, int kPanel, int kSums>
void product_at(const FloatMatrix& m, std::int64_t rows, const float* x, std::ptrdiff_t x_step,
                const std::int32_t* at, float* y, std::ptrdiff_t y_step, const FloatLimits& limits) noexcept {
  all_panels<W, kPanel, kSums>(m, rows, x, x_step, Places{at}, y, y_step, limits);
}

// Taps [i0, i1) x [j0, j1) of a position lie in the input.
struct Taps {
  std::int64_t i0, i1, j0, j1;
};
// kPositions neighbouring positions with the same taps, kVectors vectors of channels;
// `count`: valid channels.
template <int W, int kPositions, int kVectors>
RUNNEL_LANES_INLINE void depthwise_block(const FloatDepthwise& s, const Taps& taps, const float* x,
                                         const float* w, const float* bias, float* y, std::int64_t count) {
  const std::int64_t row_step = std::int64_t{s.dilation_height} * s.in_width * s.channels,
                     column_step = std::int64_t{s.dilation_width} * s.channels;
  const std::int64_t position_step = std::int64_t{s.stride_width} * s.channels;
  F<W> sum[kPositions][kVectors];
  for (int p = 0; p < kPositions; ++p) {
    for (int v = 0; v < kVectors; ++v) sum[p][v] = splat<W>(0);
  }
  for (std::int64_t i = taps.i0; i < taps.i1; ++i) {
    const float* in = x + i * row_step + taps.j0 * column_step;
    const float* tap = w + (i * s.kernel_width + taps.j0) * s.channels;
    for (std::int64_t j = taps.j0; j < taps.j1; ++j, in += column_step, tap += s.channels) {
      for (int v = 0; v < kVectors; ++v) {
        const auto some = static_cast<std::size_t>(count);
        const F<W> weights = count >= W * kVectors ? load<W>(tap + v * W) : load_some<W>(tap, some);
        for (int p = 0; p < kPositions; ++p) {
          const float* const at = in + p * position_step;
          sum[p][v] = fma<W>(count >= W * kVectors ? load<W>(at + v * W) : load_some<W>(at, some), weights,
                             sum[p][v]);
        }
      }
    }
  }
  for (int p = 0; p < kPositions; ++p) {
    for (int v = 0; v < kVectors; ++v)
      finish<W>(sum[p][v], bias + v * W, s.limits, y + p * s.channels + v * W, count - v * W);
  }
}
// All channels of kPositions positions; kPanel vectors at a time.
template <int W, int kPanel, int kPositions>
RUNNEL_LANES_INLINE void depthwise_positions(const FloatDepthwise& s, const Taps& taps, const float* x,
                                             float* y) {
  std::int64_t c = 0;
  const auto block = [&]<int kVectors>() __attribute__((always_inline)) {
    depthwise_block<W, kPositions, kVectors>(s, taps, x + c, s.weights + c, s.bias + c, y + c, kVectors * W);
    c += kVectors * W;
  };
  while (c + kPanel * W <= s.channels) block.template operator()<kPanel>();
  if constexpr (kPanel > 2) {
    if (c + 2 * W <= s.channels) block.template operator()<2>();
  }
  if constexpr (kPanel > 1) {
    if (c + W <= s.channels) block.template operator()<1>();
  }
  if (c < s.channels)
    depthwise_block<W, kPositions, 1>(s, taps, x + c, s.weights + c, s.bias + c, y + c, s.channels - c);
}
// Taps of a window from `start` on that lie in the input.
RUNNEL_LANES_INLINE void taps_inside(std::int64_t start, std::int64_t kernel, std::int64_t dilation,
                                     std::int64_t size, std::int64_t& first, std::int64_t& last) {
  first = 0;
  last = kernel;
  if (start >= 0 && start + (kernel - 1) * dilation < size) return;
  if (dilation == 1) {
    first = start < 0 ? -start : 0;
    last = size - start < kernel ? size - start : kernel;
    first = first < kernel ? first : kernel;
    last = last > first ? last : first;
    return;
  }
  while (first < kernel && start + first * dilation < 0) ++first;
  while (last > first && start + (last - 1) * dilation >= size) --last;
}
template <int W, int kPanel>
void depthwise(const FloatDepthwise& s, const float* x, float* y) noexcept {
  for (std::int64_t row = 0; row < s.out_height; ++row) {
    Taps taps;
    const std::int64_t top = row * s.stride_height - s.pad_top,
                       last_tap = std::int64_t{s.kernel_width - 1} * s.dilation_width;
    taps_inside(top, s.kernel_height, s.dilation_height, s.in_height, taps.i0, taps.i1);
    for (std::int64_t column = 0; column < s.out_width;) {
      const std::int64_t left = column * s.stride_width - s.pad_left;
      const float* const in = x + (top * s.in_width + left) * s.channels;
      taps_inside(left, s.kernel_width, s.dilation_width, s.in_width, taps.j0, taps.j1);
      // Neighbours whose windows lie entirely in the input.
      std::int64_t together = 1;
      const auto fits = [&](std::int64_t count) {
        return column + count <= s.out_width && left + (count - 1) * s.stride_width + last_tap < s.in_width;
      };
      if (left >= 0 && fits(2)) together = fits(4) ? 4 : 2;
      if (together == 4)
        depthwise_positions<W, kPanel, 4>(s, taps, in, y);
      else if (together == 2)
        depthwise_positions<W, kPanel, 2>(s, taps, in, y);
      else
        depthwise_positions<W, kPanel, 1>(s, taps, in, y);
      column += together;
      y += together * s.channels;
    }
  }
}

// kSums: vectors of sums that registers can hold besides the operands.
template <int W, int kPanel, int kSums>
constexpr FloatKernels table() noexcept {
  constexpr auto kAt = [] {
    if constexpr (W > 1)
      return product_at<W, kPanel, kSums>;
    else
      return nullptr;
  }();
  // Without vectors no table brings double precision with it.
#if defined(__AVX2__) || defined(__aarch64__)
  constexpr FloatMap kLog = log_loop;
#else
  constexpr FloatMap kLog = nullptr;
#endif
  return {W,
          kPanel,
          product<W, kPanel, kSums>,
          kAt,
          pair_product<W>,
          depthwise<W, kPanel>,
          lstm_gates<W>,
          gru_gates<W>,
          exp_loop<W>,
          sigmoid_loop<W>,
          tanh_loop<W>,
          swish_loop<W>,
          sqrt_loop<W>,
          kLog};
}

}  // namespace
}  // namespace runnel::kernels
