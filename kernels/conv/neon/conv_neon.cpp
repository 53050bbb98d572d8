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

// Two products in an int16, of the same place in two quads: for inputs of 0..127, and for weights of which
// not both are -128 (their sum of two is at most 2 * 128 * 127 then). Floor: 3 instructions for 16
// multiply-adds, 0.19, besides loads. Four quads of inputs are one load.
struct Pairs : Products, PlainBytes<Pairs> {
  static constexpr int kQuads = 4;
  using Inputs = int32x4_t;
  RUNNEL_VECTOR Inputs inputs(const std::int8_t* x) noexcept { return vreinterpretq_s32_s8(vld1q_s8(x)); }
  template <int kFrames, int kVectors>
  RUNNEL_VECTOR void add_quads(Halves (&sum)[kFrames][kVectors], const Inputs* in,
                               const std::int8_t*& weight) noexcept {
    add_pair<0, kFrames, kVectors>(sum, in, weight);
    add_pair<2, kFrames, kVectors>(sum, in, weight);
    weight += 4 * kVectors * 16;
  }
  template <int kQuad, int kFrames, int kVectors>
  RUNNEL_VECTOR void add_pair(Halves (&sum)[kFrames][kVectors], const Inputs* in,
                              const std::int8_t* weight) noexcept {
    int8x16_t x[kFrames], z[kFrames];
    RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
      x[f] = vreinterpretq_s8_s32(vdupq_laneq_s32(in[f], kQuad));
      z[f] = vreinterpretq_s8_s32(vdupq_laneq_s32(in[f], kQuad + 1));
    }
    const auto two = [&]<int kFirst>() __attribute__((always_inline)) {
      if constexpr (kFirst < kVectors) {
        const auto w = two_quads<kVectors, kFirst, kQuad * kVectors * 16>(weight);
        RUNNEL_UNROLL for (int v = 0; v < 2 && kFirst + v < kVectors; ++v) {
          RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
            Halves& to = sum[f][kFirst + v];
            to.low = vpadalq_s16(to.low, vmlal_s8(vmull_s8(vget_low_s8(w.first[v]), vget_low_s8(x[f])),
                                                  vget_low_s8(w.second[v]), vget_low_s8(z[f])));
            to.high = vpadalq_s16(to.high, vmlal_high_s8(vmull_high_s8(w.first[v], x[f]), w.second[v], z[f]));
          }
        }
      }
    };
    two.template operator()<0>();
    two.template operator()<2>();
  }
};

// Any weights.
struct Singles : Products, PlainBytes<Singles> {
  static constexpr int kQuads = 1;
  using Inputs = int8x16_t;
  RUNNEL_VECTOR Inputs inputs(const std::int8_t* x) noexcept { return four(x); }
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
