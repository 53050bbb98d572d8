// One output position of a vector convolution: what a stream of single frames runs at every step. Nothing is shared with neighbours, so what
// counts is how few cache lines and instructions stand around the multiply-adds. Included by conv_vector.h.
//
// For plans that are direct and plain, with one position, pieces of the window at equal distances, and whole groups of channels.
#pragma once

#include "kernels/conv_sums.h"

namespace runnel::kernels {
namespace {

// Requantizes and stores 4 vectors of sums: one group of channels.
template <class V, bool kSum, bool kEqual>
[[gnu::always_inline]] inline void finish_position(const ConvPlan& plan, typename V::Int* sum, const std::int32_t* shift, const std::int8_t* addend,
                                                   std::int8_t* y) noexcept {
  for (int v = 0; v < 4; ++v) sum[v] = V::shift_right(sum[v], kEqual ? V::repeat(plan.equal_shift) : V::load(shift + v * V::kLanes));
  auto bytes = V::max_bytes(V::pack_bytes(sum), V::repeat4(plan.low_bytes));
  if constexpr (kSum) bytes = V::max_bytes(V::add_bytes(bytes, V::load(addend)), V::repeat4(plan.sum_low_bytes));
  V::store(y, bytes);
}

// What a position has still to do: its next group of channels.
template <class V, class Dot, bool kSum, bool kEqual>
struct NextGroup {
  static constexpr int kGroup = 4 * V::kLanes;
  const std::int8_t* weights;
  const std::int32_t *bias, *shift;
  const std::int8_t* addend;
  std::int8_t* y;

  template <int kGroups, class Pieces>
  [[gnu::always_inline]] void run(const ConvPlan& plan, const Pieces& pieces, std::int64_t group_weights) noexcept {
    typename V::Int sum[kGroups][4];
    sum_groups<V, Dot>(pieces, weights, group_weights, bias, sum);
    for (int g = 0; g < kGroups; ++g) {
      finish_position<V, kSum, kEqual>(plan, sum[g], shift, addend, y);
      shift += kGroup, y += kGroup;
      if constexpr (kSum) addend += kGroup;
    }
    bias += kGroups * kGroup;
    weights += kGroups * group_weights;
  }
  template <class Pieces>
  [[gnu::always_inline]] void run_all(const ConvPlan& plan, const Pieces& pieces) noexcept {
    const std::int64_t group_weights = std::int64_t{plan.runs} * plan.quads * (4 * Dot::kVectorBytes);
    std::int32_t left = plan.out_channels;
    if constexpr (V::kGroups > 1) {
      for (; left >= V::kGroups * kGroup; left -= V::kGroups * kGroup) run<V::kGroups>(plan, pieces, group_weights);
    }
    for (; left > 0; left -= kGroup) run<1>(plan, pieces, group_weights);
  }
};

// kSum: see Conv.
template <class V, class Dot, bool kSum, bool kEqual>
[[gnu::always_inline]] inline void dense_position(const ConvPlan& plan, const std::int8_t* x, const std::int8_t* addend, std::int8_t* y) noexcept {
  NextGroup<V, Dot, kSum, kEqual> next{plan.weights, plan.bias, plan.shift, addend, y};
  if constexpr (Folds<Dot>) {
    const std::int64_t piece = std::int64_t{plan.quads} * 4, bytes = plan.runs * piece;
    typename Dot::Window window;
    std::int32_t missing = 0;
    for (std::int64_t at = 0; at < bytes; at += piece, x += plan.run_step) missing += Dot::fold(x, piece, window, at);
    next.run_all(plan, FoldedPieces<V, Dot>{window, V::repeat(missing), std::int64_t{plan.runs} * plan.quads});
  } else {
    next.run_all(plan, EvenPieces<V, Dot>{x, plan.run_step, plan.runs, plan.quads});
  }
}

// Four taps of a channel become the four bytes of an int32 lane, by interleaving rows. The newest row is the last one: in a stream all others can be
// worked on while the layer in front still computes.
template <class V, class Dot, bool kEqual>
[[gnu::always_inline]] inline void depthwise_position(const ConvPlan& plan, const std::int8_t* x, std::int8_t* y) noexcept {
  using Int = typename V::Int;
  const std::int8_t* weights = plan.weights;
  const std::int32_t *bias = plan.bias, *shift = plan.shift;
  const std::int32_t whole = plan.runs / 4, rest = plan.runs % 4;
  for (std::int32_t left = plan.out_channels; left > 0; left -= 4 * V::kLanes) {
    const std::int8_t* tap = x;
    const std::int64_t step = plan.run_step;
    Int sum[4], in[4];
    for (int v = 0; v < 4; ++v) sum[v] = V::load(bias + v * V::kLanes);
    const auto add = [&]() __attribute__((always_inline)) {
      for (int v = 0; v < 4; ++v) sum[v] = Dot::add(sum[v], Dot::spread(in[v]), Dot::weights(weights + v * Dot::kVectorBytes));
      weights += 4 * Dot::kVectorBytes;
    };
    for (std::int32_t q = 0; q < whole; ++q, tap += 4 * step) {
      V::interleave(Dot::row(tap), Dot::row(tap + step), Dot::row(tap + 2 * step), Dot::row(tap + 3 * step), in);
      add();
    }
    if (rest == 1) {
      V::spread_bytes(Dot::row(tap), in);
      add();
    } else if (rest > 1) {
      const Int third = rest > 2 ? Dot::row(tap + 2 * step) : V::zero();
      V::interleave(Dot::row(tap), Dot::row(tap + step), third, V::zero(), in);
      add();
    }
    finish_position<V, false, kEqual>(plan, sum, shift, nullptr, y);
    bias += 4 * V::kLanes;
    shift += 4 * V::kLanes;
    x += 4 * V::kLanes;
    y += 4 * V::kLanes;
  }
}

template <class V, class Dot, bool kSum, bool kEqual>
void run_dense_single(const void* plan, const void* x, const void* addend, void* y) noexcept {
  const auto& its = *static_cast<const ConvPlan*>(plan);
  const auto *in = static_cast<const std::int8_t*>(x), *beside = static_cast<const std::int8_t*>(addend);
  dense_position<V, Dot, kSum, kEqual>(its, in, beside, static_cast<std::int8_t*>(y));
}
template <class V, class Dot, bool kEqual>
void run_depthwise_single(const void* plan, const void* x, const void* /*addend*/, void* y) noexcept {
  depthwise_position<V, Dot, kEqual>(*static_cast<const ConvPlan*>(plan), static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(y));
}

}  // namespace
}  // namespace runnel::kernels
