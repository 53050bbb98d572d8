// Vector convolutions, written once for all instruction levels. Each conv_<level>.cpp defines Vector (see
// conv_avx512.h and conv_avx2.cpp) in an unnamed namespace and includes this file, so that no code with newer
// instructions reaches other files.
#pragma once

#include "kernels/conv/conv_positions.h"
#include "kernels/conv/conv_single.h"

namespace runnel::kernels {
namespace {

using Block = BlockOf<std::int8_t>;

// Requantizes kVectors vectors, position by position, from lane `lane` on: channels [first, first + count).
// Loads everything that is equal for all positions once. HalfUp is for half_up: only a shift is left. kSum:
// an addend follows.
template <class V, int kVectors, bool kSum>
struct HalfUp {
  static constexpr bool kAdds = kSum;
  typename V::Int shift[kVectors];
  typename V::Limits limits;
  typename V::SumLimits sum_limits;
  std::int32_t first, count;

  [[gnu::always_inline]] HalfUp(const Conv& /*conv*/, const ConvPlan& plan, std::int64_t lane,
                                std::int32_t first_channel, std::int32_t channels) noexcept
      : limits(V::limits(plan.zero_point, plan.low, plan.high)),
        sum_limits(V::sum_limits(plan.sum_low, plan.sum_high)),
        first(first_channel),
        count(channels) {
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) shift[v] =
        V::load(plan.shift + (lane + v * V::kLanes) * plan.shift_stride);
  }
  [[gnu::always_inline]] void operator()(typename V::Int* sums, std::int8_t* y,
                                         const std::int8_t* addend) const noexcept {
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) sums[v] = V::shift_right(sums[v], shift[v]);
    store(sums, y, addend);
  }
  [[gnu::always_inline]] void store(const typename V::Int* sums, std::int8_t* y,
                                    const std::int8_t* addend) const noexcept {
    if constexpr (kVectors == 4) {
      auto bytes = V::pack_group(sums, limits);
      if constexpr (kSum) bytes = V::add_group(bytes, addend + first, count, sum_limits);
      V::store_group(bytes, y + first, count);
    } else {
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
        const std::int32_t rest = count - v * V::kLanes, left = rest < V::kLanes ? rest : V::kLanes;
        auto bytes = V::pack_vector(sums[v], limits);
        if constexpr (kSum) bytes = V::add_vector(bytes, addend + first + v * V::kLanes, left, sum_limits);
        V::store_vector(bytes, y + first + v * V::kLanes, left);
      }
    }
  }
};

// HalfUp for whole groups of plain plans: see finish_position. Different shifts are read where they are
// needed, as registers are few.
template <class V, bool kSum, bool kEqual>
struct PlainHalfUp {
  static constexpr bool kAdds = kSum;
  typename V::Int equal, low, sum_low;
  const std::int32_t* shift;
  std::int32_t first;

  [[gnu::always_inline]] PlainHalfUp(const Conv& /*conv*/, const ConvPlan& plan, std::int64_t lane,
                                     std::int32_t first_channel, std::int32_t /*count*/) noexcept
      : equal(V::repeat(plan.equal_shift)),
        low(V::repeat4(plan.low_bytes)),
        sum_low(V::repeat4(plan.sum_low_bytes)),
        shift(plan.shift + lane),
        first(first_channel) {}
  [[gnu::always_inline]] void operator()(typename V::Int* sums, std::int8_t* y,
                                         const std::int8_t* addend) const noexcept {
    RUNNEL_UNROLL for (int v = 0; v < 4; ++v) sums[v] =
        V::shift_right(sums[v], kEqual ? equal : V::load(shift + v * V::kLanes));
    auto bytes = V::max_bytes(V::pack_bytes(sums), low);
    if constexpr (kSum) bytes = V::max_bytes(V::add_bytes(bytes, V::load(addend + first)), sum_low);
    V::store(y + first, bytes);
  }
};

// The roundings that whole networks have, besides half_up, without a call for every position.
template <class V>
[[gnu::always_inline]] inline typename V::Int round_half_even(const ConvPlan& plan, typename V::Int sum,
                                                              std::int64_t at,
                                                              typename V::Int shift) noexcept {
  // The half is already in `sum`. No bits left below mean a tie: the result must be even.
  return V::make_even_where_zero(V::shift_right(sum, shift), V::bit_and(sum, V::load(plan.mask + at)));
}
// tflite_double of plans with `half`: all shifts are to the right, no multiplier is negative. Then rounding a
// quotient's ties away from zero is adding half, less 1 below 0, and the product has the sign of the sum, or
// is 0, where that 1 changes nothing.
template <class V>
[[gnu::always_inline]] inline typename V::Int round_doubled(const ConvPlan& plan, typename V::Int sum,
                                                            std::int64_t at, typename V::Int shift) noexcept {
  const typename V::Int high = V::doubled_high(sum, V::load(plan.multiplier + at));
  return V::shift_right(V::add(V::add(high, V::load(plan.half + at)), V::sign(sum)), shift);
}
constexpr bool rounds_in_place(const ConvPlan& plan) noexcept {
  return plan.finish == Finish::half_even || (plan.finish == Finish::tflite_double && plan.half != nullptr);
}
template <class V, int kVectors, bool kSum, Finish kFinish>
struct Rounded {
  static constexpr bool kAdds = kSum;
  const ConvPlan& plan;
  std::int64_t lane;
  HalfUp<V, kVectors, kSum> shifts;

  [[gnu::always_inline]] Rounded(const Conv& of, const ConvPlan& its, std::int64_t at, std::int32_t first,
                                 std::int32_t count) noexcept
      : plan(its), lane(at), shifts(of, its, at, first, count) {}
  [[gnu::always_inline]] void operator()(typename V::Int* sums, std::int8_t* y,
                                         const std::int8_t* addend) const noexcept {
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) sums[v] =
        kFinish == Finish::half_even
            ? round_half_even<V>(plan, sums[v], lane + v * V::kLanes, shifts.shift[v])
            : round_doubled<V>(plan, sums[v], lane + v * V::kLanes, shifts.shift[v]);
    shifts.store(sums, y, addend);
  }
};

// Every other rounding, chosen at run time.
template <class V, int kVectors, bool kSum>
struct AnyRounding {
  static constexpr bool kAdds = kSum;
  using Int = typename V::Int;
  const Conv& conv;
  const ConvPlan& plan;
  std::int64_t lane;
  HalfUp<V, kVectors, kSum> shifts;

  [[gnu::always_inline]] AnyRounding(const Conv& of, const ConvPlan& its, std::int64_t at, std::int32_t first,
                                     std::int32_t count) noexcept
      : conv(of), plan(its), lane(at), shifts(of, its, at, first, count) {}
  [[gnu::noinline]] void operator()(Int* sums, std::int8_t* y, const std::int8_t* addend) const noexcept {
    if (plan.finish == Finish::scalar) {
      alignas(64) std::int32_t sum[kVectors * V::kLanes];
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) V::store(sum + v * V::kLanes, sums[v]);
      finish_scalar(conv.spec, sum, plan.channel + lane, kVectors * V::kLanes, y, kSum ? addend : nullptr);
      return;
    }
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) sums[v] =
        round(sums[v], lane + v * V::kLanes, shifts.shift[v]);
    shifts.store(sums, y, addend);
  }
  [[gnu::always_inline]] Int round(Int sum, std::int64_t at, Int shift) const noexcept {
    if (plan.finish == Finish::half_even) return round_half_even<V>(plan, sum, at, shift);
    if (plan.finish == Finish::tflite_double && plan.half != nullptr)
      return round_doubled<V>(plan, sum, at, shift);
    if (plan.left != nullptr) sum = V::shift_left(sum, V::load(plan.left + at));
    const Int high = V::multiply_high31(sum, V::load(plan.multiplier + at), V::load(plan.nudge + at));
    if (plan.finish == Finish::single) return V::shift_right(V::add(high, V::load(plan.half + at)), shift);
    const Int mask = V::load(plan.mask + at);
    const Int threshold = V::sub(V::half_of(mask), V::sign(high));
    return V::add_where_greater(V::shift_right(high, shift), V::bit_and(high, mask), threshold);
  }
};

// All whole blocks of kFrames positions, times kVectors vectors of output channels; advances `block` and
// `frames`. Few sums would wait for each other: each is then split into kChains.
//
// The floor for 64 x 64 with VNNI: 64 multiply-add instructions at two per cycle are 32 cycles per frame;
// requantization adds 6 on the same ports. Four frames share each load of weights (the 64 loads at two per
// cycle bound a single frame).
template <class V, class Dot, int kVectors, int kFrames>
[[gnu::always_inline]] inline void sum_frames(const ConvPlan& plan, const Block& block,
                                              const std::int8_t* packed, std::int64_t lane,
                                              typename V::Int (&out)[kFrames][kVectors]) noexcept {
  using Int = typename V::Int;
  constexpr int kChains = Dot::template chains<kVectors * kFrames>();
  const std::int8_t* weights = packed;
  Int sum[kChains][kFrames][kVectors];
  RUNNEL_UNROLL for (int c = 0; c < kChains; ++c) {
    RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) sum[c][f][v] =
          c == 0 ? V::load(plan.bias + lane + v * V::kLanes) : V::zero();
    }
  }
  const auto step = [&](const std::int8_t* x, int chain) __attribute__((always_inline)) {
    typename Dot::Weights w[kVectors];
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) w[v] = Dot::weights(weights + v * Dot::kVectorBytes);
    weights += kVectors * Dot::kVectorBytes;
    RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
      const auto in = Dot::input(V::repeat4(x + f * block.x_step));
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) sum[chain][f][v] =
          Dot::add(sum[chain][f][v], in, w[v]);
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
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
      out[f][v] = sum[0][f][v];
      RUNNEL_UNROLL for (int c = 1; c < kChains; ++c) out[f][v] = V::add(out[f][v], sum[c][f][v]);
    }
  }
}
template <class V, class Dot, int kVectors, int kFrames, class Finisher>
[[gnu::always_inline]] inline void dense_blocks(const ConvPlan& plan, const Finisher& finish, Block& block,
                                                std::int64_t& frames, const std::int8_t* packed,
                                                std::int64_t lane) noexcept {
  using Int = typename V::Int;
  for (; frames >= kFrames; frames -= kFrames) {
    Int sum[kFrames][kVectors];
    if constexpr (WalksItself<Dot>)
      Dot::template sums<kFrames, 1, kVectors>(
          ListedPieces{block.x, block.offset, plan.runs}, block.x_step, plan.quads, packed, 0,
          plan.bias + lane, [&](int f, int, int v) __attribute__((always_inline))->Int & {
            return sum[f][v];
          });
    else
      sum_frames<V, Dot, kVectors, kFrames>(plan, block, packed, lane, sum);
    RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
      finish(sum[f], block.y + f * block.y_step,
             Finisher::kAdds ? block.addend + f * block.addend_step : nullptr);
    }
    block.x += kFrames * block.x_step;
    block.y += kFrames * block.y_step;
    if constexpr (Finisher::kAdds) block.addend += kFrames * block.addend_step;
  }
}

// Position by position, kGroups groups of channels each.
template <class V, class Dot, int kGroups, int kVectors, class Finisher>
[[gnu::noinline]] void dense_positions(const Conv& conv, const ConvPlan& plan, Block block,
                                       std::int64_t frames, const std::int8_t* weights, std::int64_t lane,
                                       std::int32_t first, std::int32_t count) noexcept {
  // Copies, because to a compiler stores to y could change what `plan` points to.
  const std::int32_t runs = plan.runs, quads = plan.quads;
  const std::int32_t* const bias = plan.bias + lane;
  const std::int64_t group_weights = plan.group_weights;
  const auto run_all = [&](const auto& pieces_at, const auto&... finish) __attribute__((always_inline)) {
    for (; frames > 0; --frames) {
      const auto pieces = pieces_at(block.x);
      typename V::Int sum[kGroups][kVectors];
      sum_groups<V, Dot>(pieces, quads, missing_of<V, Dot>(pieces, quads), weights, group_weights, bias, sum);
      int g = 0;
      (finish(sum[g++], block.y, block.addend), ...);
      block.x += block.x_step;
      block.y += block.y_step;
      if constexpr (Finisher::kAdds) block.addend += block.addend_step;
    }
  };
  const auto run = [&](const auto&... finish) __attribute__((always_inline)) {
    if (runs == 1)
      run_all(
          [&](const std::int8_t* x) __attribute__((always_inline)) { return OnePiece{x}; }, finish...);
    else
      run_all(
          [&](const std::int8_t* x) __attribute__((always_inline)) {
            return ListedPieces{x, block.offset, runs};
          },
          finish...);
  };
  constexpr int kGroup = 4 * V::kLanes;
  if constexpr (kGroups == 1)
    run(Finisher(conv, plan, lane, first, count));
  else
    run(Finisher(conv, plan, lane, first, kGroup),
        Finisher(conv, plan, lane + kGroup, first + kGroup, kGroup));
}

template <class V, class Dot, int kVectors, class Finisher>
[[gnu::noinline]] void dense_group(const Conv& conv, const ConvPlan& plan, Block block, std::int64_t frames,
                                   const std::int8_t* weights, std::int64_t lane, std::int32_t first,
                                   std::int32_t count) noexcept {
  const Finisher finish(conv, plan, lane, first, count);
  if constexpr (V::kFrames >= 4)
    dense_blocks<V, Dot, kVectors, 4>(plan, finish, block, frames, weights, lane);
  dense_blocks<V, Dot, kVectors, 2>(plan, finish, block, frames, weights, lane);
  dense_blocks<V, Dot, kVectors, 1>(plan, finish, block, frames, weights, lane);
}

// The same for all whole groups of channels of a plain plan, without a call for each: for vector units with
// many registers, whose groups are small.
template <class V, class Dot, bool kSum, bool kEqual>
[[gnu::noinline]] void dense_groups(const ConvPlan& plan, const Block& block, std::int64_t frames,
                                    const std::int8_t* weights, std::int32_t first,
                                    std::int32_t last) noexcept {
  constexpr std::int32_t kGroup = 4 * V::kLanes;
  // Copies, because to a compiler stores to y could change what `plan` and `block` hold.
  const Limits<V, kSum> limits(plan);
  const std::int32_t runs = plan.runs, quads = plan.quads;
  const std::int64_t group_weights = plan.group_weights, x_step = block.x_step, y_step = block.y_step,
                     addend_step = block.addend_step;
  const std::int64_t* const offset = block.offset;
  const std::int32_t *bias = plan.bias + first, *shift = plan.shift + (kEqual ? 0 : first);
  const std::int8_t *const x_first = block.x, *addend_first = kSum ? block.addend + first : nullptr;
  std::int8_t* y_first = block.y + first;
  const auto run = [&](const auto& pieces_at) __attribute__((always_inline)) {
    for (std::int32_t channels = last - first; channels >= kGroup; channels -= kGroup) {
      const std::int8_t *x = x_first, *addend = addend_first;
      std::int8_t* y = y_first;
      std::int64_t left = frames;
      const auto blocks = [&]<int kFrames>() __attribute__((always_inline)) {
        _Pragma("GCC unroll 1") for (; left >= kFrames; left -= kFrames) {
          typename V::Int sum[kFrames][4];
          Dot::template sums<kFrames, 1, 4>(
              pieces_at(x), x_step, quads, weights, 0,
              bias, [&](int f, int, int v) __attribute__((always_inline))->typename V::Int & {
                return sum[f][v];
              });
          RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
            finish_position<V, kSum, kEqual>(limits, sum[f], shift, addend, y);
            y += y_step;
            if constexpr (kSum) addend += addend_step;
          }
          x += kFrames * x_step;
        }
      };
      if constexpr (V::kFrames >= 4) blocks.template operator()<4>();
      blocks.template operator()<2>();
      blocks.template operator()<1>();
      weights += group_weights;
      bias += kGroup;
      y_first += kGroup;
      if constexpr (!kEqual) shift += kGroup;
      if constexpr (kSum) addend_first += kGroup;
    }
  };
  if (runs == 1)
    run([](const std::int8_t* x) __attribute__((always_inline)) { return OnePiece{x}; });
  else
    run([=](const std::int8_t* x) __attribute__((always_inline)) { return ListedPieces{x, offset, runs}; });
}

template <class V, class Dot, bool kSum>
struct Dense {
  using Element = std::int8_t;
  static constexpr std::int32_t kGroup = 4 * V::kLanes;
  template <int kGroups, int kVectors, class Finisher>
  static void finished(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                       const std::int8_t* weights, std::int32_t first, std::int32_t count) noexcept {
    // Few sums per broadcast: two positions share the weights. For a single position the longer entry into
    // unrolled loops does not pay.
    constexpr bool kShares = V::kFrames > 1 || (kGroups == 1 && !requires { &Dot::spread_missing; });
    if constexpr (kShares) {
      if (V::kFrames > 1 || kVectors < 4 || frames == 1)
        return dense_group<V, Dot, kVectors, Finisher>(conv, plan, block, frames, weights, first, first,
                                                       count);
    }
    if constexpr (V::kFrames == 1 && (kVectors == 4 || !kShares))
      dense_positions<V, Dot, kGroups, kVectors, Finisher>(conv, plan, block, frames, weights, first, first,
                                                           count);
  }
  template <int kGroups, int kVectors>
  static void group(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                    const std::int8_t* weights, std::int32_t first, std::int32_t count) noexcept {
    if (kVectors == 4 && plan.plain && count == kGroups * kGroup) {
      if constexpr (kVectors == 4 && !requires { V::kKeepsLimits; }) {
        if (plan.shift_stride == 0)
          finished<kGroups, 4, PlainHalfUp<V, kSum, true>>(conv, plan, block, frames, weights, first, count);
        else
          finished<kGroups, 4, PlainHalfUp<V, kSum, false>>(conv, plan, block, frames, weights, first, count);
      }
    } else if (plan.finish == Finish::half_up) {
      finished<kGroups, kVectors, HalfUp<V, kVectors, kSum>>(conv, plan, block, frames, weights, first,
                                                             count);
    } else if (plan.finish == Finish::half_even) {
      finished<kGroups, kVectors, Rounded<V, kVectors, kSum, Finish::half_even>>(conv, plan, block, frames,
                                                                                 weights, first, count);
    } else if (rounds_in_place(plan)) {
      finished<kGroups, kVectors, Rounded<V, kVectors, kSum, Finish::tflite_double>>(
          conv, plan, block, frames, weights, first, count);
    } else {
      finished<kGroups, kVectors, AnyRounding<V, kVectors, kSum>>(conv, plan, block, frames, weights, first,
                                                                  count);
    }
  }
  static void frames(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                     Channels channels) noexcept {
    if constexpr (requires { V::kKeepsLimits; }) {
      if (plan.plain && channels.last - channels.first >= kGroup) {
        const std::int8_t* const weights = plan.weights + channels.first / kGroup * plan.group_weights;
        if (plan.shift_stride == 0)
          dense_groups<V, Dot, kSum, true>(plan, block, frames, weights, channels.first, channels.last);
        else
          dense_groups<V, Dot, kSum, false>(plan, block, frames, weights, channels.first, channels.last);
        channels.first += (channels.last - channels.first) / kGroup * kGroup;
        if (channels.first < channels.last) apart(conv, plan, block, frames, channels);
        return;
      }
      return apart(conv, plan, block, frames, channels);
    } else {
      other_frames(conv, plan, block, frames, channels);
    }
  }
  // A call, so that plain plans do not save the registers of its loops.
  [[gnu::noinline]] static void apart(const Conv& conv, const ConvPlan& plan, const Block& block,
                                      std::int64_t frames, Channels channels) noexcept {
    other_frames(conv, plan, block, frames, channels);
  }
  static void other_frames(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                           Channels channels) noexcept {
    const std::int8_t* weights = plan.weights + channels.first / kGroup * plan.group_weights;
    std::int32_t first = channels.first;
    if constexpr (V::kFrames == 1 && V::kGroups == 2) {
      for (; channels.last - first >= 2 * kGroup; first += 2 * kGroup, weights += 2 * plan.group_weights) {
        group<2, 4>(conv, plan, block, frames, weights, first, 2 * kGroup);
      }
    }
    for (; first < channels.last; first += kGroup, weights += plan.group_weights) {
      const std::int32_t rest = channels.last - first;
      const std::int32_t count = rest < kGroup ? rest : kGroup;
      switch ((count + V::kLanes - 1) / V::kLanes) {
        case 4:
          group<1, 4>(conv, plan, block, frames, weights, first, count);
          break;
        case 3:
          group<1, 3>(conv, plan, block, frames, weights, first, count);
          break;
        case 2:
          group<1, 2>(conv, plan, block, frames, weights, first, count);
          break;
        default:
          group<1, 1>(conv, plan, block, frames, weights, first, count);
          break;
      }
    }
  }
};

// All whole groups of channels of a plain depthwise plan with kTaps taps, whose weights stay in registers.
template <class V, class Dot, int kTaps, bool kEqual>
[[gnu::noinline]] void few_taps(const ConvPlan& plan, const Block& block, std::int64_t frames,
                                Channels channels) noexcept {
  constexpr std::int32_t kGroup = 4 * V::kLanes;
  std::int32_t first = channels.first;
  const std::int32_t last = channels.last;
  const std::int8_t* weights = plan.weights + first / kGroup * plan.group_weights;
  const Limits<V, false> limits(plan);
  const std::int64_t group_weights = plan.group_weights, x_step = block.x_step, y_step = block.y_step;
  const std::int32_t *bias = plan.bias + first, *shift = plan.shift + (kEqual ? 0 : first);
  std::int64_t at[kTaps];
  RUNNEL_UNROLL for (int t = 0; t < kTaps; ++t) at[t] = block.offset[t];
  const std::int8_t* x_first = block.x + first;
  std::int8_t* y_first = block.y + first;
  for (; last - first >= kGroup; first += kGroup) {
    const std::int8_t* x = x_first;
    std::int8_t* y = y_first;
    const auto taps = Dot::template taps<kTaps>(weights, bias);
    _Pragma("GCC unroll 1") for (std::int64_t left = frames; left > 0; --left) {
      typename V::Int sum[4];
      taps.sums(x, at, sum);
      finish_position<V, false, kEqual>(limits, sum, shift, nullptr, y);
      x += x_step, y += y_step;
    }
    weights += group_weights;
    bias += kGroup, x_first += kGroup, y_first += kGroup;
    if constexpr (!kEqual) shift += kGroup;
  }
}

// Interleaving rows puts four taps of a channel into the four bytes of an int32 lane.
template <class V, class Dot>
struct Depthwise {
  using Element = std::int8_t;
  static constexpr std::int32_t kGroup = 4 * V::kLanes;
  template <class Finisher>
  [[gnu::always_inline]] static void finished(const Conv& conv, const ConvPlan& plan, const Block& block,
                                              std::int64_t frames, const std::int8_t* packed,
                                              std::int32_t first, std::int32_t count) noexcept {
    using Int = typename V::Int;
    const Finisher finish(conv, plan, first, first, count);
    if constexpr (TakesTaps<Dot>) {
      const std::int8_t* x = block.x + first;
      std::int8_t* y = block.y;
      const std::int32_t* const bias = plan.bias + first;
      const std::int32_t taps = plan.runs;
      const std::int64_t* const offset = block.offset;
      const auto run = [&](const auto& taps_at) __attribute__((always_inline)) {
        for (; frames > 0; --frames, x += block.x_step, y += block.y_step) {
          Int sum[4];
          Dot::sums(taps_at(x), taps, packed, bias, sum);
          finish(sum, y, nullptr);
        }
      };
      // Patches have their taps side by side.
      if (plan.even_steps || offset != plan.run_offset) {
        const std::int64_t step = taps > 1 ? offset[1] : 0;
        run([=](const std::int8_t* at) __attribute__((always_inline)) { return Dot::even(at, step); });
      } else {
        run([=](const std::int8_t* at) __attribute__((always_inline)) { return Dot::listed(at, offset); });
      }
    } else {
      interleaved(plan, finish, block, frames, packed, first);
    }
  }
  template <class Finisher>
  [[gnu::always_inline]] static void interleaved(const ConvPlan& plan, const Finisher& finish,
                                                 const Block& block, std::int64_t frames,
                                                 const std::int8_t* packed, std::int32_t first) noexcept {
    using Int = typename V::Int;
    const std::int32_t whole = plan.runs / 4, rest = plan.runs % 4;
    const std::int8_t* x = block.x + first;
    std::int8_t* y = block.y;
    for (std::int64_t frame = 0; frame < frames; ++frame, x += block.x_step, y += block.y_step) {
      const std::int8_t* weights = packed;
      const std::int64_t* offset = block.offset;
      Int in[4];
      Int sum[4];
      RUNNEL_UNROLL for (int v = 0; v < 4; ++v) sum[v] = V::load(plan.bias + first + v * V::kLanes);
      const auto add = [&]() __attribute__((always_inline)) {
        RUNNEL_UNROLL for (int v = 0; v < 4; ++v) {
          sum[v] = Dot::add(sum[v], Dot::spread(in[v]), Dot::weights(weights + v * Dot::kVectorBytes));
        }
        weights += 4 * Dot::kVectorBytes;
        offset += 4;
      };
      for (std::int32_t q = 0; q < whole; ++q) {
        V::interleave(Dot::row(x + offset[0]), Dot::row(x + offset[1]), Dot::row(x + offset[2]),
                      Dot::row(x + offset[3]), in);
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
      finish(sum, y, nullptr);
    }
  }
  static void group(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                    const std::int8_t* weights, std::int32_t first, std::int32_t count) noexcept {
    const bool plain = plan.plain && count == 4 * V::kLanes;
    if (plain && plan.shift_stride == 0)
      finished<PlainHalfUp<V, false, true>>(conv, plan, block, frames, weights, first, count);
    else if (plain)
      finished<PlainHalfUp<V, false, false>>(conv, plan, block, frames, weights, first, count);
    else if (plan.finish == Finish::half_up)
      finished<HalfUp<V, 4, false>>(conv, plan, block, frames, weights, first, count);
    else if (plan.finish == Finish::half_even)
      finished<Rounded<V, 4, false, Finish::half_even>>(conv, plan, block, frames, weights, first, count);
    else if (rounds_in_place(plan))
      finished<Rounded<V, 4, false, Finish::tflite_double>>(conv, plan, block, frames, weights, first, count);
    else
      finished<AnyRounding<V, 4, false>>(conv, plan, block, frames, weights, first, count);
  }
  static void frames(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                     Channels channels) noexcept {
    if constexpr (TakesTaps<Dot>) {
      if (plan.plain && channels.last - channels.first >= kGroup && few(plan, block, frames, channels)) {
        channels.first += (channels.last - channels.first) / kGroup * kGroup;
        if (channels.first < channels.last) apart(conv, plan, block, frames, channels);
        return;
      }
      return apart(conv, plan, block, frames, channels);
    } else {
      other_frames(conv, plan, block, frames, channels);
    }
  }
  // A call, so that plain plans do not save the registers of its loops.
  [[gnu::noinline]] static void apart(const Conv& conv, const ConvPlan& plan, const Block& block,
                                      std::int64_t frames, Channels channels) noexcept {
    other_frames(conv, plan, block, frames, channels);
  }
  static void other_frames(const Conv& conv, const ConvPlan& plan, const Block& block, std::int64_t frames,
                           Channels channels) noexcept {
    const std::int8_t* weights = plan.weights + channels.first / kGroup * plan.group_weights;
    if (plan.together > 1 && frames > 1 && block.x_step == plan.in_channels &&
        block.y_step == plan.out_channels) {
      // Neighbours are one piece of x and of y: a group of lanes takes `together` of them.
      Block wide = block;
      wide.x_step = wide.y_step = std::int64_t{plan.together} * plan.out_channels;
      const std::int64_t whole = frames / plan.together, rest = frames % plan.together;
      if (whole > 0) group(conv, plan, wide, whole, weights, 0, static_cast<std::int32_t>(wide.y_step));
      wide.x += whole * wide.x_step;
      wide.y += whole * wide.y_step;
      if (rest > 0)
        group(conv, plan, wide, 1, weights, 0, static_cast<std::int32_t>(rest) * plan.out_channels);
      return;
    }
    for (std::int32_t first = channels.first; first < channels.last;
         first += kGroup, weights += plan.group_weights) {
      const std::int32_t left = channels.last - first;
      group(conv, plan, block, frames, weights, first, left < kGroup ? left : kGroup);
    }
  }
  // All whole groups, for the numbers of taps that networks have; false for others.
  static bool few(const ConvPlan& plan, const Block& block, std::int64_t frames, Channels channels) noexcept {
    const auto run = [&]<int kTaps>() __attribute__((always_inline)) {
      if (plan.shift_stride == 0)
        few_taps<V, Dot, kTaps, true>(plan, block, frames, channels);
      else
        few_taps<V, Dot, kTaps, false>(plan, block, frames, channels);
      return true;
    };
    switch (plan.runs) {
      case 3:
        return run.template operator()<3>();
      case 5:
        return run.template operator()<5>();
      case 9:
        return run.template operator()<9>();
      default:
        return false;
    }
  }
};

template <class Kernel>
void run_add(const Conv& conv, const void* x, const void* addend, void* y, void* scratch) noexcept {
  const ConvPlan& plan = *static_cast<const ConvPlan*>(conv.extra);
  run_part<Kernel>(conv, {0, std::int64_t{plan.out_height} * plan.out_width, 0, plan.out_channels}, x, addend,
                   y, scratch);
}

template <class Kernel>
void run(const Conv& conv, const void* x, void* y, void* scratch) noexcept {
  run_add<Kernel>(conv, x, nullptr, y, scratch);
}

// For kernels without an addend.
template <class Kernel>
void run_part_then_add(const Conv& conv, const ConvPart& part, const void* x, const void* addend, void* y,
                       void* scratch) noexcept {
  run_part<Kernel>(conv, part, x, nullptr, y, scratch);
  conv_add_reference(conv.spec, part, addend, y);
}
template <class Kernel>
void run_then_add(const Conv& conv, const void* x, const void* addend, void* y, void* scratch) noexcept {
  const ConvPlan& plan = *static_cast<const ConvPlan*>(conv.extra);
  run_part_then_add<Kernel>(conv, {0, std::int64_t{plan.out_height} * plan.out_width, 0, plan.out_channels},
                            x, addend, y, scratch);
}

template <class Kernel>
void run_rows(const Conv& conv, const ConvRows& rows) noexcept {
  const ConvPlan& plan = *static_cast<const ConvPlan*>(conv.extra);
  Kernel::frames(conv, plan,
                 Block{static_cast<const std::int8_t*>(rows.x), rows.x_step, plan.run_offset,
                       static_cast<std::int8_t*>(rows.y), rows.y_step,
                       static_cast<const std::int8_t*>(rows.addend), rows.addend_step},
                 rows.count, Channels{0, plan.out_channels});
}

template <class V, class Dot>
constexpr VectorKernels dense_kernels() noexcept {
  using Plain = Dense<V, Dot, false>;
  using Sum = Dense<V, Dot, true>;
  return {run<Plain>,      {run_dense_single<V, Dot, false, false>, run_dense_single<V, Dot, false, true>},
          run_part<Plain>, run_rows<Plain>,
          run_add<Sum>,    {run_dense_single<V, Dot, true, false>, run_dense_single<V, Dot, true, true>},
          run_part<Sum>,   run_rows<Sum>};
}
template <class V, class Dot>
constexpr VectorKernels depthwise_kernels() noexcept {
  using Plain = Depthwise<V, Dot>;
  return {run<Plain>,
          {run_depthwise_single<V, Dot, false>, run_depthwise_single<V, Dot, true>},
          run_part<Plain>,
          run_rows<Plain>,
          run_then_add<Plain>,
          {},
          run_part_then_add<Plain>,
          nullptr};
}

template <class V, class Unsigned, class Signed>
constexpr VectorConv vector_conv() noexcept {
  return {dense_kernels<V, Unsigned>(), dense_kernels<V, Signed>(), depthwise_kernels<V, Unsigned>(),
          depthwise_kernels<V, Signed>()};
}

}  // namespace
}  // namespace runnel::kernels
