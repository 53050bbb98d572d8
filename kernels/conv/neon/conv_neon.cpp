// Convolutions for every AArch64: products of bytes are int16 there.
#include "kernels/conv/neon/conv_neon.h"

#include "kernels/conv/conv_vector.h"

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
// multiply-adds, 0.19, besides loads.
struct Pairs : Products, PlainBytes<Pairs> {
  static constexpr int kQuads = 2;
  struct Inputs {
    int8x16_t first, second;
  };
  RUNNEL_VECTOR Inputs inputs(const std::int8_t* x) noexcept { return {four(x), four(x + 4)}; }
  template <int kFrames, int kVectors>
  RUNNEL_VECTOR void add_quads(Halves (&sum)[kFrames][kVectors], const Inputs* in,
                               const std::int8_t* weight) noexcept {
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
      const int8x16_t a = weights(weight + v * 16), b = weights(weight + (kVectors + v) * 16);
      RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) {
        const int8x16_t x = in[f].first, z = in[f].second;
        Halves& to = sum[f][v];
        to.low = vpadalq_s16(
            to.low, vmlal_s8(vmull_s8(vget_low_s8(a), vget_low_s8(x)), vget_low_s8(b), vget_low_s8(z)));
        to.high = vpadalq_s16(to.high, vmlal_high_s8(vmull_high_s8(a, x), b, z));
      }
    }
  }
};

// Any weights.
struct Singles : Products, PlainBytes<Singles> {
  static constexpr int kQuads = 1;
  using Inputs = int8x16_t;
  RUNNEL_VECTOR Inputs inputs(const std::int8_t* x) noexcept { return four(x); }
  template <int kFrames, int kVectors>
  RUNNEL_VECTOR void add_quads(Halves (&sum)[kFrames][kVectors], const Inputs* in,
                               const std::int8_t* weight) noexcept {
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
      const int8x16_t w = weights(weight + v * 16);
      RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) sum[f][v] = add(sum[f][v], in[f], w);
    }
  }
};

// Sums take two registers each: two positions of 16 channels, or one of 32, fill half of them.
using Vectors = Neon<2, 2>;
constexpr VectorConv kPairs = {dense_kernels<Vectors, Pairs>(), dense_kernels<Vectors, Pairs>(),
                               depthwise_kernels<Vectors, Singles>(), depthwise_kernels<Vectors, Singles>()};
constexpr VectorConv kSingles = {dense_kernels<Vectors, Pairs>(), dense_kernels<Vectors, Singles>(),
                                 depthwise_kernels<Vectors, Singles>(),
                                 depthwise_kernels<Vectors, Singles>()};

}  // namespace

const VectorConv& vector_conv_neon(bool weights_pair) noexcept { return weights_pair ? kPairs : kSingles; }

}  // namespace runnel::kernels
