// Sums of one output position: multiply-adds that read their weights from memory. Included by
// conv_single.h and conv_vector.h.
//
// A weight that a multiplication reads from memory costs no instruction. Positions that share weights in
// registers load each with one instruction, and with 256-bit vectors only two positions fit into the
// registers. There the input is shared instead: two groups of channels use each broadcast.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/conv/conv_plan.h"

namespace runnel::kernels {
namespace {

#define RUNNEL_UNROLL _Pragma("GCC unroll 8")

// How a window is read: visit(x) for each of its pieces. One:
struct OnePiece {
  const std::int8_t* x;

  template <class Visit>
  [[gnu::always_inline]] void each(const Visit& visit) const noexcept {
    visit(x);
  }
};
// At equal distances:
struct EvenPieces {
  const std::int8_t* x;
  std::int64_t step;
  std::int32_t runs;

  template <class Visit>
  [[gnu::always_inline]] void each(const Visit& visit) const noexcept {
    const std::int8_t* piece = x;
    for (std::int32_t run = 0; run < runs; ++run, piece += step) visit(piece);
  }
};
// Anywhere:
struct ListedPieces {
  const std::int8_t* x;
  const std::int64_t* offset;
  std::int32_t runs;

  template <class Visit>
  [[gnu::always_inline]] void each(const Visit& visit) const noexcept {
    for (std::int32_t run = 0; run < runs; ++run) visit(x + offset[run]);
  }
};

// A term to add to all sums of a position, if any. It is known late, so sums do not start with it.
template <class V, class Dot, class Pieces>
[[gnu::always_inline]] inline auto missing_of(const Pieces& pieces, std::int32_t quads) noexcept {
  if constexpr (requires { &Dot::spread_missing; }) {
    typename V::Int missing = V::zero();
    pieces.each([&](const std::int8_t* x) __attribute__((always_inline)) {
      missing = Dot::miss(missing, x, std::int64_t{quads} * 4);
    });
    return Dot::spread_missing(missing);
  } else {
    return nullptr;
  }
}
// Whether a Dot walks over a window itself (conv_neon.h): it takes several quads together, and its sums have
// forms of their own.
template <class Dot>
concept WalksItself = requires {
  typename Dot::Sum;
};
// Whether a depthwise Dot adds up a window itself (conv_rows.h): its weights lie tap by tap.
template <class Dot>
concept TakesTaps = requires {
  Dot::kTakesTaps;
};

// Sums of kGroups groups of kVectors vectors each, with weights `group_weights` apart and consecutive lanes
// in `bias`; each piece has `quads` times four inputs. Few sums would wait for each other: each is then
// split into kChains.
template <class V, class Dot, int kGroups, int kVectors, class Pieces, class Missing>
[[gnu::always_inline]] inline void sum_groups(const Pieces& pieces, std::int32_t quads,
                                              const Missing& missing, const std::int8_t* weights,
                                              std::int64_t group_weights, const std::int32_t* bias,
                                              typename V::Int (&sum)[kGroups][kVectors]) noexcept
    requires(!WalksItself<Dot>) {
  using Int = typename V::Int;
  constexpr int kChains = Dot::template chains<kGroups * kVectors>(), kSteps = kChains > 1 ? kChains : 4;
  Int chain[kChains][kGroups][kVectors];
  RUNNEL_UNROLL for (int c = 0; c < kChains; ++c) {
    RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) chain[c][g][v] =
          c == 0 ? V::load(bias + (g * kVectors + v) * V::kLanes) : V::zero();
    }
  }
  pieces.each([&](const std::int8_t* x) __attribute__((always_inline)) {
    const auto step = [&](int at, int to) __attribute__((always_inline)) {
      const auto in = Dot::input(V::repeat4(x + 4 * at));
      const std::int8_t* const from = weights + at * kVectors * Dot::kVectorBytes;
      RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
        RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
          chain[to][g][v] =
              Dot::add(chain[to][g][v], in, Dot::weights(from + g * group_weights + v * Dot::kVectorBytes));
          V::settle(chain[to][g][v]);
        }
      }
    };
    for (std::int32_t left = quads / kSteps; left > 0;
         --left, x += 4 * kSteps, weights += kSteps * kVectors * Dot::kVectorBytes) {
      RUNNEL_UNROLL for (int s = 0; s < kSteps; ++s) step(s, s % kChains);
    }
    _Pragma("GCC unroll 1") for (std::int32_t left = quads % kSteps; left > 0;
                                 --left, x += 4, weights += kVectors * Dot::kVectorBytes) step(0, 0);
  });
  RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
      sum[g][v] = chain[0][g][v];
      RUNNEL_UNROLL for (int c = 1; c < kChains; ++c) sum[g][v] = V::add(sum[g][v], chain[c][g][v]);
      if constexpr (!std::is_same_v<Missing, std::nullptr_t>) sum[g][v] = V::add(sum[g][v], missing);
    }
  }
}

template <class V, class Dot, int kGroups, int kVectors, class Pieces, class Missing>
requires WalksItself<Dot>
[[gnu::always_inline]] inline void sum_groups(const Pieces& pieces, std::int32_t quads,
                                              const Missing& /*missing*/, const std::int8_t* weights,
                                              std::int64_t group_weights, const std::int32_t* bias,
                                              typename V::Int (&sum)[kGroups][kVectors]) noexcept {
  Dot::template sums<1, kGroups, kVectors>(
      pieces, 0, quads, weights, group_weights,
      bias, [&](int, int g, int v) __attribute__((always_inline))->typename V::Int & { return sum[g][v]; });
}

}  // namespace
}  // namespace runnel::kernels
