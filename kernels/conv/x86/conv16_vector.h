// Vector convolutions of int16 data, dense and depthwise. Each conv16_<level>.cpp defines Vector in an
// unnamed namespace and includes this file.
//
// Pairs of int16 products are summed in int32 (vpmaddwd) as long as no input can overflow them, which follows
// from the weights (conv16_prepare.cpp), and then in int64.
#pragma once

#include "kernels/conv/conv_positions.h"

namespace runnel::kernels {
namespace {

template <class V>
struct Dense16 {
  using Element = std::int16_t;
  using Block = BlockOf<Element>;

  // All whole blocks of kFrames positions, times one vector of output channels.
  template <int kFrames>
  [[gnu::always_inline]] static void blocks(const Conv& conv, const ConvPlan& plan, Block& block,
                                            std::int64_t& frames, const std::int8_t* packed,
                                            std::int32_t first, std::int32_t count) noexcept {
    const Wide& wide = *plan.wide;
    for (; frames >= kFrames; frames -= kFrames) {
      const std::int8_t* weights = packed;
      typename V::Sum total[kFrames];
#pragma GCC unroll 8
      for (int f = 0; f < kFrames; ++f) total[f] = V::load_sum(wide.bias + first);
      for (std::int32_t run = 0; run < plan.runs; ++run) {
        const Element* x = block.x + block.offset[run];
        typename V::Int sum[kFrames];
#pragma GCC unroll 8
        for (int f = 0; f < kFrames; ++f) sum[f] = V::zero();
        for (std::int32_t pair = wide.pairs[run]; pair > 0; --pair, x += 2, weights += V::kLanes * 4) {
          const typename V::Int w = V::load(weights);
#pragma GCC unroll 8
          for (int f = 0; f < kFrames; ++f)
            sum[f] = V::add_products(sum[f], V::repeat2(x + f * block.x_step), w);
        }
#pragma GCC unroll 8
        for (int f = 0; f < kFrames; ++f) V::widen(total[f], sum[f]);
      }
#pragma GCC unroll 8
      for (int f = 0; f < kFrames; ++f)
        finish(conv, wide, total[f], first, count, block.y + f * block.y_step);
      block.x += kFrames * block.x_step;
      block.y += kFrames * block.y_step;
    }
  }

  [[gnu::always_inline]] static void finish(const Conv& conv, const Wide& wide, typename V::Sum total,
                                            std::int32_t first, std::int32_t count, Element* y) noexcept {
    if (wide.shifts) {
      V::store(V::shift(total, wide, first), conv.spec.requant.low, conv.spec.requant.high, y + first, count);
      return;
    }
    alignas(64) std::int64_t sums[V::kLanes];
    V::store_sum(sums, total);
    finish16_scalar(conv.spec, sums, first, count, y);
  }

  static void frames(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                     Channels channels) noexcept {
    for (std::int32_t first = channels.first; first < channels.last; first += V::kLanes) {
      const std::int32_t rest = channels.last - first, count = rest < V::kLanes ? rest : V::kLanes;
      const std::int8_t* weights = plan.weights + first / V::kLanes * plan.group_weights;
      Block at = block;
      std::int64_t left = frames;
      blocks<4>(conv, plan, at, left, weights, first, count);
      blocks<1>(conv, plan, at, left, weights, first, count);
    }
  }
};

// A lane is a channel; its taps come in pairs.
template <class V>
struct Depthwise16 {
  using Element = std::int16_t;
  using Block = BlockOf<Element>;

  static void frames(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                     Channels channels) noexcept {
    const Wide& wide = *plan.wide;
    for (std::int32_t first = channels.first; first < channels.last; first += V::kLanes) {
      const std::int32_t rest = channels.last - first, count = rest < V::kLanes ? rest : V::kLanes;
      const std::int8_t* const packed = plan.weights + first / V::kLanes * plan.group_weights;
      const Element* x = block.x + first;
      Element* y = block.y;
      for (std::int64_t frame = 0; frame < frames; ++frame, x += block.x_step, y += block.y_step) {
        const std::int8_t* weights = packed;
        const std::int64_t* offset = block.offset;
        typename V::Sum total = V::load_sum(wide.bias + first);
        for (std::int32_t run = 0; run < plan.runs; ++run) {
          typename V::Int sum = V::zero();
          for (std::int32_t pair = wide.pairs[run]; pair > 0; --pair, offset += 2, weights += V::kLanes * 4)
            sum = V::add_products(sum, V::pairs(x + offset[0], x + offset[1]), V::load(weights));
          V::widen(total, sum);
        }
        Dense16<V>::finish(conv, wide, total, first, count, y);
      }
    }
  }
};

template <class Kernel>
void run16_part(const Conv& conv, const ConvPart& part, const void* x, const void*, void* y,
                void* scratch) noexcept {
  run_part<Kernel>(conv, part, x, nullptr, y, scratch);
}
template <class Kernel>
void run16(const Conv& conv, const void* x, void* y, void* scratch) noexcept {
  const ConvPlan& plan = *static_cast<const ConvPlan*>(conv.extra);
  run_part<Kernel>(conv, {0, std::int64_t{plan.out_height} * plan.out_width, 0, plan.out_channels}, x,
                   nullptr, y, scratch);
}
template <class Kernel>
void run16_rows(const Conv& conv, const ConvRows& rows) noexcept {
  const ConvPlan& plan = *static_cast<const ConvPlan*>(conv.extra);
  Kernel::frames(conv, plan,
                 {static_cast<const std::int16_t*>(rows.x), rows.x_step / 2, plan.run_offset,
                  static_cast<std::int16_t*>(rows.y), rows.y_step / 2},
                 rows.count, Channels{0, plan.out_channels});
}

template <class V>
Conv16Kernels kernels16(bool depthwise) noexcept {
  using Dense = Dense16<V>;
  using Depthwise = Depthwise16<V>;
  if (depthwise) return {run16<Depthwise>, run16_part<Depthwise>, run16_rows<Depthwise>, V::kLanes};
  return {run16<Dense>, run16_part<Dense>, run16_rows<Dense>, V::kLanes};
}

}  // namespace
}  // namespace runnel::kernels
