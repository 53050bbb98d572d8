// One output position of a vector convolution: what a stream of single frames runs at every step. It shares
// nothing with neighbours, so the cost is the cache lines and instructions besides the multiply-adds.
// Included by conv_vector.h.
//
// For direct and plain plans with one position and equal distances between the window's pieces.
#pragma once

#include "kernels/conv/conv_sums.h"

namespace runnel::kernels {
namespace {

// What all groups of a position are shifted by and limited to: read where it is needed, as bytes that are
// stored could change the plan,
template <class V, bool kSum>
struct Limits {
  const ConvPlan& plan;

  [[gnu::always_inline]] explicit Limits(const ConvPlan& of) noexcept : plan(of) {}
  [[gnu::always_inline]] typename V::Int shift() const noexcept { return V::repeat(plan.equal_shift); }
  [[gnu::always_inline]] typename V::Int low() const noexcept { return V::repeat4(plan.low_bytes); }
  [[gnu::always_inline]] typename V::Int sum_low() const noexcept { return V::repeat4(plan.sum_low_bytes); }
};
// or kept, in the registers of vector units that have many.
template <class V, bool kSum>
requires(V::kKeepsLimits) struct Limits<V, kSum> {
  typename V::Int the_shift, the_low, the_sum_low;

  [[gnu::always_inline]] explicit Limits(const ConvPlan& of) noexcept
      : the_shift(V::repeat(of.equal_shift)),
        the_low(V::repeat4(of.low_bytes)),
        the_sum_low(kSum ? V::repeat4(of.sum_low_bytes) : the_low) {}
  [[gnu::always_inline]] typename V::Int shift() const noexcept { return the_shift; }
  [[gnu::always_inline]] typename V::Int low() const noexcept { return the_low; }
  [[gnu::always_inline]] typename V::Int sum_low() const noexcept { return the_sum_low; }
};

// Requantizes and stores 4 vectors of sums: one group of channels.
template <class V, bool kSum, bool kEqual>
[[gnu::always_inline]] inline void finish_position(const Limits<V, kSum>& limits, typename V::Int* sum,
                                                   const std::int32_t* shift, const std::int8_t* addend,
                                                   std::int8_t* y) noexcept {
  for (int v = 0; v < 4; ++v)
    sum[v] = V::shift_right(sum[v], kEqual ? limits.shift() : V::load(shift + v * V::kLanes));
  auto bytes = V::max_bytes(V::pack_bytes(sum), limits.low());
  if constexpr (kSum) bytes = V::max_bytes(V::add_bytes(bytes, V::load(addend)), limits.sum_low());
  V::store(y, bytes);
}

// The same of the last channels: kVectors vectors, `count` channels, fewer than a group.
template <class V, int kVectors, bool kSum, bool kEqual>
[[gnu::always_inline]] inline void finish_rest(const ConvPlan& plan, typename V::Int* sum,
                                               const std::int32_t* shift, const std::int8_t* addend,
                                               std::int8_t* y, std::int32_t count) noexcept {
  RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) sum[v] =
      V::shift_right(sum[v], kEqual ? V::repeat(plan.equal_shift) : V::load(shift + v * V::kLanes));
  const auto sum_limits = V::sum_limits(plan.sum_low_bytes[0], 127);
  if constexpr (kVectors == 4) {
    auto bytes = V::max_bytes(V::pack_bytes(sum), V::repeat4(plan.low_bytes));
    if constexpr (kSum) bytes = V::add_group(bytes, addend, count, sum_limits);
    V::store_group(bytes, y, count);
  } else {
    const auto limits = V::limits(0, plan.low_bytes[0], 127);
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
      const std::int32_t left = v + 1 < kVectors ? V::kLanes : count - v * V::kLanes;
      auto bytes = V::pack_vector(sum[v], limits);
      if constexpr (kSum) bytes = V::add_vector(bytes, addend + v * V::kLanes, left, sum_limits);
      V::store_vector(bytes, y + v * V::kLanes, left);
    }
  }
}

// kSum: see Conv.
template <class V, class Dot, bool kSum, bool kEqual, class Pieces>
[[gnu::always_inline]] inline void dense_position(const ConvPlan& plan, const Pieces& pieces,
                                                  const std::int8_t* addend, std::int8_t* y) noexcept {
  constexpr std::int32_t kGroup = 4 * V::kLanes;
  const std::int8_t* weights = plan.weights;
  const std::int32_t *bias = plan.bias, *shift = plan.shift;
  const std::int32_t quads = plan.quads;
  const std::int64_t group_weights = std::int64_t{plan.runs} * quads * (4 * Dot::kVectorBytes);
  const auto missing = missing_of<V, Dot>(pieces, quads);
  const Limits<V, kSum> limits(plan);
  const auto next = [&]<int kGroups>() __attribute__((always_inline)) {
    typename V::Int sum[kGroups][4];
    sum_groups<V, Dot>(pieces, quads, missing, weights, group_weights, bias, sum);
    for (int g = 0; g < kGroups; ++g) {
      finish_position<V, kSum, kEqual>(limits, sum[g], shift, addend, y);
      shift += kGroup, y += kGroup;
      if constexpr (kSum) addend += kGroup;
    }
    bias += kGroups * kGroup;
    weights += kGroups * group_weights;
  };
  std::int32_t left = plan.out_channels;
  if constexpr (V::kGroups > 1) {
    for (; left >= V::kGroups * kGroup; left -= V::kGroups * kGroup) next.template operator()<V::kGroups>();
  }
  for (; left >= kGroup; left -= kGroup) next.template operator()<1>();
  const auto rest = [&]<int kVectors>() __attribute__((always_inline)) {
    typename V::Int sum[1][kVectors];
    sum_groups<V, Dot>(pieces, quads, missing, weights, group_weights, bias, sum);
    finish_rest<V, kVectors, kSum, kEqual>(plan, sum[0], shift, addend, y, left);
  };
  switch ((left + V::kLanes - 1) / V::kLanes) {
    case 0:
      break;
    case 1:
      return rest.template operator()<1>();
    case 2:
      return rest.template operator()<2>();
    case 3:
      return rest.template operator()<3>();
    default:
      return rest.template operator()<4>();
  }
}

// Interleaving rows puts four taps of a channel into the four bytes of an int32 lane. The newest row is the
// last: in a stream, the others can be processed while the previous layer still computes.
template <class V, class Dot, bool kEqual>
[[gnu::always_inline]] inline void depthwise_position(const ConvPlan& plan, const std::int8_t* x,
                                                      std::int8_t* y) noexcept {
  using Int = typename V::Int;
  const std::int8_t* weights = plan.weights;
  const std::int32_t *bias = plan.bias, *shift = plan.shift;
  const std::int32_t whole = plan.runs / 4, rest = plan.runs % 4;
  const Limits<V, false> limits(plan);
  for (std::int32_t left = plan.out_channels; left > 0; left -= 4 * V::kLanes) {
    const std::int8_t* tap = x;
    const std::int64_t step = plan.run_step;
    Int in[4], sum[4];
    for (int v = 0; v < 4; ++v) sum[v] = V::load(bias + v * V::kLanes);
    const auto add = [&]() __attribute__((always_inline)) {
      for (int v = 0; v < 4; ++v)
        sum[v] = Dot::add(sum[v], Dot::spread(in[v]), Dot::weights(weights + v * Dot::kVectorBytes));
      weights += 4 * Dot::kVectorBytes;
    };
    for (std::int32_t q = 0; q < whole; ++q, tap += 4 * step) {
      V::interleave(Dot::row(tap), Dot::row(tap + step), Dot::row(tap + 2 * step), Dot::row(tap + 3 * step),
                    in);
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
    if (left < 4 * V::kLanes) return finish_rest<V, 4, false, kEqual>(plan, sum, shift, nullptr, y, left);
    finish_position<V, false, kEqual>(limits, sum, shift, nullptr, y);
    bias += 4 * V::kLanes;
    shift += 4 * V::kLanes;
    x += 4 * V::kLanes;
    y += 4 * V::kLanes;
  }
}

// The same where Dot adds up the window itself.
template <class V, class Dot, bool kEqual>
requires TakesTaps<Dot>
[[gnu::always_inline]] inline void depthwise_position(const ConvPlan& plan, const std::int8_t* x,
                                                      std::int8_t* y) noexcept {
  constexpr std::int32_t kGroup = 4 * V::kLanes;
  const std::int8_t* weights = plan.weights;
  const std::int32_t *bias = plan.bias, *shift = plan.shift;
  const std::int64_t step = plan.run_step, group_weights = plan.group_weights;
  const std::int32_t taps = plan.runs;
  const Limits<V, false> limits(plan);
  std::int32_t left = plan.out_channels;
  if (taps == 9) {  // as most networks over time have
    std::int64_t at[9];
    RUNNEL_UNROLL for (int t = 0; t < 9; ++t) at[t] = t * step;
    _Pragma("GCC unroll 1") for (; left >= kGroup; left -= kGroup) {
      typename V::Int sum[4];
      Dot::template taps<9>(weights, bias).sums(x, at, sum);
      finish_position<V, false, kEqual>(limits, sum, shift, nullptr, y);
      weights += group_weights;
      bias += kGroup, shift += kGroup, x += kGroup, y += kGroup;
    }
  }
  for (; left > 0; left -= kGroup) {
    typename V::Int sum[4];
    Dot::sums(Dot::even(x, step), taps, weights, bias, sum);
    if (left < kGroup) return finish_rest<V, 4, false, kEqual>(plan, sum, shift, nullptr, y, left);
    finish_position<V, false, kEqual>(limits, sum, shift, nullptr, y);
    weights += group_weights;
    bias += kGroup, shift += kGroup, x += kGroup, y += kGroup;
  }
}

template <class V, class Dot, bool kSum, bool kEqual>
void run_dense_single(const void* plan, const void* x, const void* addend, void* y) noexcept {
  const auto& its = *static_cast<const ConvPlan*>(plan);
  const auto *in = static_cast<const std::int8_t*>(x), *beside = static_cast<const std::int8_t*>(addend);
  auto* const out = static_cast<std::int8_t*>(y);
  if (its.runs == 1)
    dense_position<V, Dot, kSum, kEqual>(its, OnePiece{in}, beside, out);
  else
    dense_position<V, Dot, kSum, kEqual>(its, EvenPieces{in, its.run_step, its.runs}, beside, out);
}
template <class V, class Dot, bool kEqual>
void run_depthwise_single(const void* plan, const void* x, const void* /*addend*/, void* y) noexcept {
  depthwise_position<V, Dot, kEqual>(*static_cast<const ConvPlan*>(plan), static_cast<const std::int8_t*>(x),
                                     static_cast<std::int8_t*>(y));
}

}  // namespace
}  // namespace runnel::kernels
