// Convolutions for every AArch64: products of bytes are int16 there.
#include "kernels/conv/conv_vector.h"
#include "kernels/conv/neon/conv_rows.h"

namespace runnel::kernels {
namespace {

// A sum of four lanes in two parts each: SADALP adds neighbours.
struct Halves {
  int32x4_t low, high;  // lanes 0 and 1, lanes 2 and 3
};
struct Products {
  using Sum = Halves;
  RUNNEL_VECTOR Halves start(int32x4_t bias) noexcept {
    return {vzip1q_s32(bias, vdupq_n_s32(0)), vzip2q_s32(bias, vdupq_n_s32(0))};
  }
  RUNNEL_VECTOR int32x4_t total(Halves sum) noexcept { return vpaddq_s32(sum.low, sum.high); }
  // Exact for all bytes: one product fits into int16.
  RUNNEL_VECTOR Halves add(Halves sum, int8x16_t x, int8x16_t w) noexcept {
    return {vpadalq_s16(sum.low, vmull_s8(vget_low_s8(w), vget_low_s8(x))),
            vpadalq_s16(sum.high, vmull_high_s8(w, x))};
  }
};

// Two quads of inputs, each in all four lanes, and `from` advanced by them: one instruction, where GCC's own
// choice would be three. The asm volatile of conv_neon.h's next_row(). Registers are named, a pair for each
// of two positions: pairs of GCC's own choice are copied before they are used.
struct TwoInputs {
  int8x16_t first, second;
};
template <int kPosition>
RUNNEL_VECTOR TwoInputs next_inputs(const std::int8_t*& from) noexcept {
#if defined(__clang__)
  const int32x4x2_t both = vld2q_dup_s32(reinterpret_cast<const std::int32_t*>(from));
  from += 8;
  return {vreinterpretq_s8_s32(both.val[0]), vreinterpretq_s8_s32(both.val[1])};
#else
  if constexpr (kPosition % 2 == 0) {
    register int8x16_t first asm("v28");
    register int8x16_t second asm("v29");
    asm volatile("ld2r {v28.4s, v29.4s}, [%2], #8" : "=w"(first), "=w"(second), "+r"(from));
    return {first, second};
  } else {
    register int8x16_t first asm("v30");
    register int8x16_t second asm("v31");
    asm volatile("ld2r {v30.4s, v31.4s}, [%2], #8" : "=w"(first), "=w"(second), "+r"(from));
    return {first, second};
  }
#endif
}

// Two products in an int16, of the same place in two quads: for inputs of 0..127, and for weights of which
// not both are -128 (their sum of two is at most 2 * 128 * 127 then). Floor: 3 instructions for 16
// multiply-adds, 0.19, besides loads.
struct Pairs : Products {
  static constexpr int kVectorBytes = 16;
  template <int kFrames, int kGroups, int kVectors, class Pieces, class To>
  RUNNEL_VECTOR void sums(const Pieces& pieces, std::int64_t x_step, std::int32_t quads,
                          const std::int8_t* weights, std::int64_t group_weights, const std::int32_t* bias,
                          const To& to) noexcept {
    Halves sum[kGroups][kFrames][kVectors];
    RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
        const Halves first = start(vld1q_s32(bias + (g * kVectors + v) * 4));
        RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) sum[g][f][v] = first;
      }
    }
    const std::int8_t* at[kGroups];
    RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) at[g] = weights + g * group_weights;
    constexpr int kTwo = 2 * kVectors * kVectorBytes;
    pieces.each([&](const std::int8_t* piece) __attribute__((always_inline)) {
      const std::int8_t* x[kFrames];
      RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) x[f] = piece + f * x_step;
      const auto add_two = [&]<int kOffset>() __attribute__((always_inline)) {
        static_assert(kFrames <= 2);
        TwoInputs in[kFrames];
        in[0] = next_inputs<0>(x[0]);
        if constexpr (kFrames > 1) in[1] = next_inputs<1>(x[1]);
        RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
          add_vectors<0, kOffset>(sum[g], in, at[g]);
          add_vectors<2, kOffset>(sum[g], in, at[g]);
        }
      };
      const auto advance = [&](int bytes) __attribute__((always_inline)) {
        RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) at[g] += bytes;
      };
      std::int32_t left = quads;
      _Pragma("GCC unroll 1") for (; left >= 4; left -= 4) {
        add_two.template operator()<0>();
        add_two.template operator()<kTwo>();
        advance(2 * kTwo);
      }
      if (left >= 2) {
        add_two.template operator()<0>();
        advance(kTwo);
        left -= 2;
      }
      if (left > 0) {
        RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
          const auto row = next_row<kVectors>(at[g]);
          RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
            const int8x16_t in = four_bytes(x[f]);
            RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
              sum[g][f][v] = add(sum[g][f][v], in, row.of[v]);
            }
          }
        }
      }
    });
    RUNNEL_UNROLL for (int g = 0; g < kGroups; ++g) {
      RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
        RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) to(f, g, v) = total(sum[g][f][v]);
      }
    }
  }
  // Vectors kFirst and kFirst + 1, where there are so many.
  template <int kFirst, int kOffset, int kFrames, int kVectors>
  RUNNEL_VECTOR void add_vectors(Halves (&sum)[kFrames][kVectors], const TwoInputs (&in)[kFrames],
                                 const std::int8_t* weight) noexcept {
    if constexpr (kFirst < kVectors) {
      const auto w = two_quads<kVectors, kFirst, kOffset>(weight);
      RUNNEL_UNROLL for (int v = 0; v < 2 && kFirst + v < kVectors; ++v) {
        RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
          const int8x16_t x = in[f].first, z = in[f].second;
          Halves& to = sum[f][kFirst + v];
          to.low = vpadalq_s16(to.low, vmlal_s8(vmull_s8(vget_low_s8(w.first[v]), vget_low_s8(x)),
                                                vget_low_s8(w.second[v]), vget_low_s8(z)));
          to.high = vpadalq_s16(to.high, vmlal_high_s8(vmull_high_s8(w.first[v], x), w.second[v], z));
        }
      }
    }
  }
};

// Any weights.
struct Singles : Products, PlainBytes<Singles> {
  static constexpr int kQuads = 1;
  using Inputs = int8x16_t;
  RUNNEL_VECTOR Inputs inputs(const std::int8_t* x) noexcept { return four_bytes(x); }
  template <int kFrames, int kVectors>
  RUNNEL_VECTOR void add_quads(Halves (&sum)[kFrames][kVectors], const Inputs* in,
                               const std::int8_t*& weight) noexcept {
    const auto row = next_row<kVectors>(weight);
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
      RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) sum[f][v] = add(sum[f][v], in[f], row.of[v]);
    }
  }
};

// Sums take two registers each: two positions of 16 channels, or one of 32, fill half of them.
using Vectors = Neon<2, 2>;
constexpr VectorConv kPairs = {dense_kernels<Vectors, Pairs>(), dense_kernels<Vectors, Pairs>(),
                               depthwise_kernels<Vectors, Rows<true>>(),
                               depthwise_kernels<Vectors, Rows<true>>()};
constexpr VectorConv kSingles = {dense_kernels<Vectors, Pairs>(), dense_kernels<Vectors, Singles>(),
                                 depthwise_kernels<Vectors, Rows<true>>(),
                                 depthwise_kernels<Vectors, Rows<false>>()};

}  // namespace

const VectorConv& vector_conv_neon(bool weights_pair) noexcept { return weights_pair ? kPairs : kSingles; }

}  // namespace runnel::kernels
