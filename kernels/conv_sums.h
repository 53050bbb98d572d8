// The sums of one output position: multiply-adds that read their weights straight from memory. Included by conv_single.h and conv_vector.h.
//
// A weight that a multiplication reads from memory costs no instruction of its own. Positions that share weights in registers load them once, but with
// an instruction each, and with vectors of 256 bits only two positions fit into the registers. What is shared there is the input instead: two groups of
// channels take each broadcast.
#pragma once

#include "kernels/conv_plan.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_UNROLL _Pragma("GCC unroll 8")

// A multiply-add that wants its window prepared: Dot::fold() makes a Dot::Window of the pieces, one behind the other, and returns what is to be
// added to each sum.
template <class Dot>
concept Folds = requires { typename Dot::Window; };

// How a window is read: `add_to` is what every sum starts with beside the bias; each(visit) calls visit(input, quads) for every piece, where input(at)
// is the four inputs from `at` on, broadcast. Pieces at equal distances:
template <class V, class Dot>
struct EvenPieces {
  const std::int8_t* x;
  std::int64_t step;
  std::int32_t runs, quads;

  template <class Visit>
  [[gnu::always_inline]] void each(const Visit& visit) const noexcept {
    const std::int8_t* piece = x;
    for (std::int32_t run = 0; run < runs; ++run, piece += step) {
      visit([&](std::int64_t at) __attribute__((always_inline)) { return Dot::input(V::repeat4(piece + at)); }, quads);
    }
  }
  [[gnu::always_inline]] typename V::Int start(typename V::Int bias) const noexcept { return bias; }
};
// Pieces anywhere:
template <class V, class Dot>
struct ListedPieces {
  const std::int8_t* x;
  const std::int64_t* offset;
  std::int32_t runs, quads;

  template <class Visit>
  [[gnu::always_inline]] void each(const Visit& visit) const noexcept {
    for (std::int32_t run = 0; run < runs; ++run) {
      const std::int8_t* const piece = x + offset[run];
      visit([&](std::int64_t at) __attribute__((always_inline)) { return Dot::input(V::repeat4(piece + at)); }, quads);
    }
  }
  [[gnu::always_inline]] typename V::Int start(typename V::Int bias) const noexcept { return bias; }
};
// A prepared window:
template <class V, class Dot>
struct FoldedPieces {
  const typename Dot::Window& window;
  typename V::Int missing;
  std::int64_t quads;

  template <class Visit>
  [[gnu::always_inline]] void each(const Visit& visit) const noexcept {
    visit([&](std::int64_t at) __attribute__((always_inline)) { return Dot::input(window, at); }, quads);
  }
  [[gnu::always_inline]] typename V::Int start(typename V::Int bias) const noexcept { return V::add(bias, missing); }
};

// The sums of kGroups groups of kVectors vectors each, whose weights are `group_weights` apart and whose lanes follow each other in `bias`. Where few
// sums would wait for each other, each is split into kChains.
template <class V, class Dot, int kGroups, int kVectors, class Pieces>
[[gnu::always_inline]] inline void sum_groups(const Pieces& pieces, const std::int8_t* weights, std::int64_t group_weights, const std::int32_t* bias,
                                              typename V::Int (&sum)[kGroups][kVectors]) noexcept {
  using Int = typename V::Int;
  constexpr int kChains = Dot::template chains<kGroups * kVectors>(), kSteps = kChains > 1 ? kChains : 2;
  Int chain[kChains][kGroups][kVectors];
  RUNNEL_UNROLL for (int c = 0; c < kChains; ++c) {
    RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) chain[c][g][v] = c == 0 ? pieces.start(V::load(bias + (g * kVectors + v) * V::kLanes)) : V::zero();
    }
  }
  pieces.each([&](const auto& input, std::int64_t quads) __attribute__((always_inline)) {
    const auto step = [&](std::int64_t at, int to) __attribute__((always_inline)) {
      const auto in = input(at);
      RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
        RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
          chain[to][g][v] = Dot::add(chain[to][g][v], in, Dot::weights(weights + g * group_weights + v * Dot::kVectorBytes));
          V::settle(chain[to][g][v]);
        }
      }
      weights += kVectors * Dot::kVectorBytes;
    };
    const std::int64_t end = quads * 4;
    std::int64_t at = 0;
    for (; at + 4 * kSteps <= end; at += 4 * kSteps) {
      RUNNEL_UNROLL for (int s = 0; s < kSteps; ++s) step(at + 4 * s, s % kChains);
    }
    for (; at < end; at += 4) step(at, 0);
  });
  RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
      sum[g][v] = chain[0][g][v];
      RUNNEL_UNROLL for (int c = 1; c < kChains; ++c) sum[g][v] = V::add(sum[g][v], chain[c][g][v]);
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
