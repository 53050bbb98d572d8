// The vector convolutions, written once for all instruction levels. Each conv_<level>.cpp defines Vector (see conv_avx512.h and
// conv_avx2.cpp) in an unnamed namespace and includes this file: no code with newer instructions can reach other files.
#pragma once

#include "kernels/conv_plan.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_UNROLL _Pragma("GCC unroll 8")

// Where a block of output positions reads and writes.
struct Block {
  const std::int8_t* x;              // window of the first position
  std::int64_t x_step;               // to the next position's window
  const std::int64_t* offset;        // of the window's pieces
  std::int8_t* y;                    // first position, channel 0
  std::int64_t y_step;
};

// Rounds int32 accumulators of the lanes from `lane` on.
template <class V>
[[gnu::always_inline]] inline typename V::Int round_lanes(const ConvPlan& plan, typename V::Int sum, std::int64_t lane) noexcept {
  using Int = typename V::Int;
  const Int shift = V::load(plan.shift + lane);
  switch (plan.finish) {
    case Finish::half_up: return V::shift_right(sum, shift);
    case Finish::half_even: {
      // The half is already in `sum`; where that leaves no bits below, it was a tie and the result must be even.
      const Int rounded = V::shift_right(sum, shift);
      return V::make_even_where_zero(rounded, V::bit_and(sum, V::load(plan.mask + lane)));
    }
    case Finish::tflite_double: {
      const Int high = V::multiply_high31(sum, V::load(plan.multiplier + lane), V::load(plan.nudge + lane));
      const Int mask = V::load(plan.mask + lane);
      const Int negative = V::sign(high);
      const Int threshold = V::sub(V::half_of(mask), negative);
      return V::add_where_greater(V::shift_right(high, shift), V::bit_and(high, mask), threshold);
    }
    default: {
      const Int high = V::multiply_high31(sum, V::load(plan.multiplier + lane), V::load(plan.nudge + lane));
      return V::shift_right(V::add(high, V::load(plan.half + lane)), shift);
    }
  }
}

// Requantizes and stores `kVectors` vectors of one position: channels [first, first + count).
template <class V, int kVectors>
[[gnu::always_inline]] inline void finish(const Conv& conv, const ConvPlan& plan, typename V::Int* sums, std::int64_t lane,
                                          std::int32_t first, std::int32_t count, std::int8_t* y) noexcept {
  if (plan.finish == Finish::scalar) {
    alignas(64) std::int32_t sum[kVectors * V::kLanes];
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) V::store(sum + v * V::kLanes, sums[v]);
    finish_scalar(conv.spec, sum, plan.channel + lane, kVectors * V::kLanes, y);
    return;
  }
  RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) sums[v] = round_lanes<V>(plan, sums[v], lane + v * V::kLanes);
  if constexpr (kVectors == 4) {
    V::store_group(sums, plan.zero_point, plan.low, plan.high, y + first, count);
  } else {
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
      const std::int32_t left = count - v * V::kLanes;
      V::store_vector(sums[v], plan.zero_point, plan.low, plan.high, y + first + v * V::kLanes, left < V::kLanes ? left : V::kLanes);
    }
  }
}

// kFrames positions times kVectors vectors of output channels. Where few accumulators would wait for each other, each is
// split into kChains.
template <class V, class Dot, int kVectors, int kFrames>
[[gnu::noinline]] void dense_block(const Conv& conv, const ConvPlan& plan, const Block& block, const std::int8_t* weights,
                                   std::int64_t lane, std::int32_t first, std::int32_t count) noexcept {
  using Int = typename V::Int;
  constexpr int kChains = Dot::template chains<kVectors * kFrames>();
  Int sum[kChains][kFrames][kVectors];
  RUNNEL_UNROLL for (int c = 0; c < kChains; ++c) {
    RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) sum[c][f][v] = c == 0 ? V::load(plan.bias + lane + v * V::kLanes) : V::zero();
    }
  }
  const auto step = [&](const std::int8_t* x, int chain) __attribute__((always_inline)) {
    typename Dot::Weights w[kVectors];
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) w[v] = Dot::weights(weights + v * Dot::kVectorBytes);
    weights += kVectors * Dot::kVectorBytes;
    RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
      const auto in = Dot::input(V::repeat4(x + f * block.x_step));
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) sum[chain][f][v] = Dot::add(sum[chain][f][v], in, w[v]);
    }
  };
  for (std::int32_t run = 0; run < plan.runs; ++run) {
    const std::int8_t* x = block.x + block.offset[run];
    std::int32_t quad = 0;
    for (; quad + kChains <= plan.quads; quad += kChains) {
      RUNNEL_UNROLL for (int c = 0; c < kChains; ++c, x += 4) step(x, c);
    }
    if constexpr (kChains > 1) {
      for (; quad < plan.quads; ++quad, x += 4) step(x, 0);
    }
  }
  RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
    RUNNEL_UNROLL for (int c = 1; c < kChains; ++c) {
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) sum[0][f][v] = V::add(sum[0][f][v], sum[c][f][v]);
    }
    finish<V, kVectors>(conv, plan, sum[0][f], lane, first, count, block.y + f * block.y_step);
  }
}

template <class V, class Dot, int kVectors>
void dense_frames(const Conv& conv, const ConvPlan& plan, Block block, std::int64_t frames, const std::int8_t* weights,
                  std::int64_t lane, std::int32_t first, std::int32_t count) noexcept {
  const auto advance = [&](std::int64_t by) __attribute__((always_inline)) {
    frames -= by;
    block.x += by * block.x_step;
    block.y += by * block.y_step;
  };
  if constexpr (V::kFrames >= 6) {
    for (; frames >= 6; advance(6)) dense_block<V, Dot, kVectors, 6>(conv, plan, block, weights, lane, first, count);
  }
  if constexpr (V::kFrames >= 4) {
    for (; frames >= 4; advance(4)) dense_block<V, Dot, kVectors, 4>(conv, plan, block, weights, lane, first, count);
  }
  for (; frames >= 2; advance(2)) dense_block<V, Dot, kVectors, 2>(conv, plan, block, weights, lane, first, count);
  if (frames > 0) dense_block<V, Dot, kVectors, 1>(conv, plan, block, weights, lane, first, count);
}

template <class V, class Dot>
struct Dense {
  static void frames(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames) noexcept {
    const std::int8_t* weights = plan.weights;
    std::int64_t lane = 0;
    for (std::int32_t first = 0; first < plan.out_channels; first += 4 * V::kLanes) {
      const std::int32_t rest = plan.out_channels - first;
      const std::int32_t count = rest < 4 * V::kLanes ? rest : 4 * V::kLanes;
      switch ((count + V::kLanes - 1) / V::kLanes) {
        case 4: dense_frames<V, Dot, 4>(conv, plan, block, frames, weights, lane, first, count); break;
        case 3: dense_frames<V, Dot, 3>(conv, plan, block, frames, weights, lane, first, count); break;
        case 2: dense_frames<V, Dot, 2>(conv, plan, block, frames, weights, lane, first, count); break;
        default: dense_frames<V, Dot, 1>(conv, plan, block, frames, weights, lane, first, count); break;
      }
      weights += plan.group_weights;
      lane += 4 * V::kLanes;
    }
  }
};

// Four taps of a channel become the four bytes of an int32 lane, by interleaving rows.
template <class V, class Dot>
struct Depthwise {
  static void frames(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames) noexcept {
    using Int = typename V::Int;
    const std::int32_t whole = plan.runs / 4, rest = plan.runs % 4;
    for (std::int32_t first = 0; first < plan.out_channels; first += 4 * V::kLanes) {
      const std::int32_t left = plan.out_channels - first;
      const std::int32_t count = left < 4 * V::kLanes ? left : 4 * V::kLanes;
      const std::int8_t* group = plan.weights + first / (4 * V::kLanes) * plan.group_weights;
      for (std::int64_t frame = 0; frame < frames; ++frame) {
        const std::int8_t* x = block.x + frame * block.x_step + first;
        const std::int8_t* weights = group;
        const std::int64_t* offset = block.offset;
        Int sum[4], in[4];
        RUNNEL_UNROLL for (int v = 0; v < 4; ++v) sum[v] = V::load(plan.bias + first + v * V::kLanes);
        const auto add = [&]() __attribute__((always_inline)) {
          RUNNEL_UNROLL for (int v = 0; v < 4; ++v) {
            sum[v] = Dot::add(sum[v], Dot::spread(in[v]), Dot::weights(weights + v * Dot::kVectorBytes));
          }
          weights += 4 * Dot::kVectorBytes;
          offset += 4;
        };
        for (std::int32_t q = 0; q < whole; ++q) {
          V::interleave(Dot::row(x + offset[0]), Dot::row(x + offset[1]), Dot::row(x + offset[2]), Dot::row(x + offset[3]), in);
          add();
        }
        if (rest == 1) {
          V::spread_bytes(Dot::row(x + offset[0]), in);
          add();
        } else if (rest > 1) {
          const Int third = rest > 2 ? Dot::row(x + offset[2]) : V::zero();
          V::interleave(Dot::row(x + offset[0]), Dot::row(x + offset[1]), third, V::zero(), in);
          add();
        }
        finish<V, 4>(conv, plan, sum, first, first, count, block.y + frame * block.y_step);
      }
    }
  }
};

// Copies the window at (top, left) into `patch`; what lies outside x is the zero point.
void stage(const ConvPlan& plan, const std::int8_t* x, std::int64_t top, std::int64_t left, std::int8_t* patch) noexcept {
  __builtin_memset(patch, plan.in_zero_point, static_cast<std::size_t>(plan.patch_bytes));
  const std::int64_t* to = plan.patch_tap;
  for (std::int32_t i = 0; i < plan.kernel_height; ++i) {
    const std::int64_t row = top + std::int64_t{i} * plan.dilation_height;
    for (std::int32_t j = 0; j < plan.kernel_width; ++j, ++to) {
      const std::int64_t column = left + std::int64_t{j} * plan.dilation_width;
      if (row < 0 || row >= plan.in_height || column < 0 || column >= plan.in_width) continue;
      __builtin_memcpy(patch + *to, x + (row * plan.in_width + column) * plan.in_channels, static_cast<std::size_t>(plan.in_channels));
    }
  }
}

// All output positions: windows inside x are read in place, the others from patches, so that the kernels know no padding.
template <class Kernel>
void run(const Conv& conv, const void* x_void, void* y_void, void* scratch) noexcept {
  const ConvPlan& plan = *static_cast<const ConvPlan*>(conv.extra);
  const auto* x = static_cast<const std::int8_t*>(x_void);
  auto* y = static_cast<std::int8_t*>(y_void);
  auto* patches = static_cast<std::int8_t*>(scratch);
  const std::int64_t reach_rows = (plan.kernel_height - 1) * std::int64_t{plan.dilation_height};
  const std::int64_t reach_columns = (plan.kernel_width - 1) * std::int64_t{plan.dilation_width};
  // Columns [inner, outer) have their whole window inside a row.
  const std::int64_t room = plan.in_width - 1 - reach_columns + plan.pad_left;
  std::int64_t inner = plan.pad_left > 0 ? (std::int64_t{plan.pad_left} + plan.stride_width - 1) / plan.stride_width : 0;
  std::int64_t outer = room < 0 ? 0 : room / plan.stride_width + 1;
  if (outer > plan.out_width) outer = plan.out_width;
  if (inner > outer) inner = outer;
  const std::int64_t x_step = std::int64_t{plan.stride_width} * plan.in_channels;
  for (std::int64_t row = 0; row < plan.out_height; ++row) {
    const std::int64_t top = row * plan.stride_height - plan.pad_top;
    const bool row_inside = top >= 0 && top + reach_rows < plan.in_height;
    std::int8_t* y_row = y + row * plan.out_width * plan.out_channels;
    for (std::int64_t column = 0; column < plan.out_width;) {
      const std::int64_t left = column * plan.stride_width - plan.pad_left;
      std::int8_t* out = y_row + column * plan.out_channels;
      if (row_inside && column >= inner && column < outer) {
        const std::int8_t* window = x + (top * plan.in_width + left) * plan.in_channels;
        Kernel::frames(conv, plan, Block{window, x_step, plan.run_offset, out, plan.out_channels}, outer - column);
        column = outer;
        continue;
      }
      const std::int64_t end = row_inside && column < inner ? inner : plan.out_width;
      const std::int64_t frames = end - column < kPatches ? end - column : kPatches;
      for (std::int64_t f = 0; f < frames; ++f) {
        stage(plan, x, top, left + f * plan.stride_width, patches + f * plan.patch_bytes);
      }
      Kernel::frames(conv, plan, Block{patches, plan.patch_bytes, plan.patch_run, out, plan.out_channels}, frames);
      column += frames;
    }
  }
}

template <class V, class Unsigned, class Signed>
constexpr VectorConv vector_conv() noexcept {
  return {run<Dense<V, Unsigned>>, run<Dense<V, Signed>>, run<Depthwise<V, Unsigned>>, run<Depthwise<V, Signed>>};
}

}  // namespace
}  // namespace runnel::kernels
