// Iteration of vector convolutions over output positions, for any element type: windows inside the input are
// read in place, windows with padding from copies, so that kernels see no padding. Included by files compiled
// for newer instructions.
#pragma once

#include "kernels/conv/conv_plan.h"

namespace runnel::kernels {
namespace {

// Where a block of output positions reads and writes.
template <class T>
struct BlockOf {
  const T* x;                  // window of the first position
  std::int64_t x_step;         // to the next position's window
  const std::int64_t* offset;  // of the window's pieces
  T* y;                        // first position, channel 0
  std::int64_t y_step;
  const T* addend = nullptr;  // as y, for kernels that add
  std::int64_t addend_step = 0;
};

// Output channels, from a multiple of a group on.
struct Channels {
  std::int32_t first, last;
};

// Copies the window at (top, left) into `patch`; outside x it is the zero point (0 for int16). Without gaps
// between its columns a row of the window is one piece of x, and of the patch.
template <class T>
void stage(const ConvPlan& plan, const T* x, std::int64_t top, std::int64_t left, T* patch) noexcept {
  __builtin_memset(patch, plan.in_zero_point, static_cast<std::size_t>(plan.patch_bytes));
  const std::int64_t* to = plan.patch_offset;
  const std::int64_t width = plan.dilation_width == 1 ? plan.kernel_width : 1, channels = plan.in_channels;
  for (std::int32_t i = 0; i < plan.kernel_height; ++i) {
    const std::int64_t row = top + std::int64_t{i} * plan.dilation_height;
    for (std::int64_t j = 0; j < plan.kernel_width; j += width, to += width) {
      if (row < 0 || row >= plan.in_height) continue;
      const std::int64_t column = left + j * plan.dilation_width;
      const std::int64_t first = column < 0 ? -column : 0,
                         last = plan.in_width - column < width ? plan.in_width - column : width;
      if (last <= first) continue;
      __builtin_memcpy(patch + *to + first * channels, x + (row * plan.in_width + column + first) * channels,
                       static_cast<std::size_t>((last - first) * channels) * sizeof(T));
    }
  }
}

// Copies `rows` rows of x from row `first` of the padded image on, with the padding around them.
template <class T>
void pad_rows(const ConvPlan& plan, const T* x, std::int64_t first, std::int64_t rows, T* to) noexcept {
  const std::int64_t channels = plan.in_channels, row_elements = plan.padded_width * channels,
                     left = plan.pad_left * channels, inside = plan.in_width * channels;
  const auto fill = [&](T* at, std::int64_t count) {
    __builtin_memset(at, plan.in_zero_point, static_cast<std::size_t>(count) * sizeof(T));
  };
  for (std::int64_t row = first - plan.pad_top; row < first - plan.pad_top + rows;
       ++row, to += row_elements) {
    if (row < 0 || row >= plan.in_height) {
      fill(to, row_elements);
      continue;
    }
    fill(to, left);
    __builtin_memcpy(to + left, x + row * inside, static_cast<std::size_t>(inside) * sizeof(T));
    fill(to + left + inside, row_elements - left - inside);
  }
}

// Runs Kernel on all positions of `part`, through the padded copy.
template <class Kernel>
void run_padded(const Conv& conv, const ConvPart& part, const typename Kernel::Element* x,
                const typename Kernel::Element* addend, typename Kernel::Element* y,
                typename Kernel::Element* padded) noexcept {
  using T = typename Kernel::Element;
  const ConvPlan& plan = *static_cast<const ConvPlan*>(conv.extra);
  const std::int64_t width = plan.out_width, first = part.first / width, last = (part.last - 1) / width,
                     reach = (plan.kernel_height - 1) * std::int64_t{plan.dilation_height} + 1;
  pad_rows(plan, x, first * plan.stride_height, (last - first) * plan.stride_height + reach, padded);
  const std::int64_t x_step = std::int64_t{plan.stride_width} * plan.in_channels, y_step = plan.out_channels,
                     row_step = std::int64_t{plan.stride_height} * plan.padded_width * plan.in_channels;
  for (std::int64_t at = part.first; at < part.last;) {
    const std::int64_t row = at / width, column = at % width,
                       frames = width - column < part.last - at ? width - column : part.last - at;
    T* const out = y + at * y_step;
    Kernel::frames(conv, plan,
                   BlockOf<T>{padded + (row - first) * row_step + column * x_step, x_step, plan.run_offset,
                              out, y_step, addend == nullptr ? nullptr : addend + at * y_step, y_step},
                   frames, Channels{part.first_channel, part.last_channel});
    at += frames;
  }
}

// Runs Kernel on all positions of `part`.
template <class Kernel>
void run_part(const Conv& conv, const ConvPart& part, const void* x_void, const void* addend_void,
              void* y_void, void* scratch) noexcept {
  using T = typename Kernel::Element;
  using Block = BlockOf<T>;
  const ConvPlan& plan = *static_cast<const ConvPlan*>(conv.extra);
  const auto* x = static_cast<const T*>(x_void);
  const auto* addend = static_cast<const T*>(addend_void);
  auto* y = static_cast<T*>(y_void);
  const Channels channels{part.first_channel, part.last_channel};
  const std::int64_t x_step = std::int64_t{plan.stride_width} * plan.in_channels, y_step = plan.out_channels;
  // The addend of an output, or null when there is none.
  const auto addend_of = [=](const T* out) { return addend == nullptr ? nullptr : addend + (out - y); };
  if (plan.direct) {
    T* out = y + part.first * y_step;
    Kernel::frames(
        conv, plan,
        Block{x + part.first * x_step, x_step, plan.run_offset, out, y_step, addend_of(out), y_step},
        part.last - part.first, channels);
    return;
  }
  auto* patches = static_cast<T*>(scratch);
  if (plan.padded_width > 0) {
    if (part.first < part.last) run_padded<Kernel>(conv, part, x, addend, y, patches);
    return;
  }
  const std::int64_t patch = plan.patch_bytes / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t reach_rows = (plan.kernel_height - 1) * std::int64_t{plan.dilation_height};
  const std::int64_t inner = plan.inner, outer = plan.outer;
  std::int64_t row = part.first / plan.out_width, column = part.first % plan.out_width;
  for (std::int64_t at = part.first; at < part.last; ++row, column = 0) {
    const std::int64_t top = row * plan.stride_height - plan.pad_top;
    const bool row_inside = top >= 0 && top + reach_rows < plan.in_height;
    const std::int64_t row_end =
        plan.out_width - column < part.last - at ? plan.out_width : column + part.last - at;
    while (column < row_end) {
      const std::int64_t left = column * plan.stride_width - plan.pad_left;
      T* out = y + at * y_step;
      std::int64_t frames = 0;
      if (row_inside && column >= inner && column < outer) {
        const T* window = x + (top * plan.in_width + left) * plan.in_channels;
        frames = (outer < row_end ? outer : row_end) - column;
        Kernel::frames(conv, plan,
                       Block{window, x_step, plan.run_offset, out, y_step, addend_of(out), y_step}, frames,
                       channels);
      } else {
        const std::int64_t end = row_inside && column < inner && inner < row_end ? inner : row_end;
        frames = end - column < kPatches ? end - column : kPatches;
        for (std::int64_t f = 0; f < frames; ++f) {
          stage(plan, x, top, left + f * plan.stride_width, patches + f * patch);
        }
        Kernel::frames(conv, plan,
                       Block{patches, patch, plan.patch_run(), out, y_step, addend_of(out), y_step}, frames,
                       channels);
      }
      column += frames;
      at += frames;
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
