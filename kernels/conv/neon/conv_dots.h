// Dot products of four bytes, for files that are compiled for them.
#pragma once

#include "kernels/conv/neon/conv_neon.h"

namespace runnel::kernels {
namespace {

// Four quads of inputs are one load: a dot product takes its four by number. Floor: 1 instruction for 16
// multiply-adds, 0.0625, besides the loads of weights, one for a quad of 16 channels.
struct Dots : PlainBytes<Dots> {
  using Sum = int32x4_t;
  static constexpr int kQuads = 4;
  using Inputs = int8x16_t;
  RUNNEL_VECTOR int32x4_t start(int32x4_t bias) noexcept { return bias; }
  RUNNEL_VECTOR int32x4_t total(int32x4_t sum) noexcept { return sum; }
  RUNNEL_VECTOR int32x4_t add(int32x4_t sum, int8x16_t x, int8x16_t w) noexcept {
    return vdotq_s32(sum, w, x);
  }
  RUNNEL_VECTOR Inputs inputs(const std::int8_t* x) noexcept { return vld1q_s8(x); }
  template <int kFrames, int kVectors>
  RUNNEL_VECTOR void add_quads(int32x4_t (&sum)[kFrames][kVectors], const Inputs* in,
                               const std::int8_t*& weight) noexcept {
    add_quad<0, kFrames, kVectors>(sum, in, weight);
    add_quad<1, kFrames, kVectors>(sum, in, weight);
    add_quad<2, kFrames, kVectors>(sum, in, weight);
    add_quad<3, kFrames, kVectors>(sum, in, weight);
  }
  template <int kQuad, int kFrames, int kVectors>
  RUNNEL_VECTOR void add_quad(int32x4_t (&sum)[kFrames][kVectors], const Inputs* in,
                              const std::int8_t*& weight) noexcept {
    const auto row = next_row<kVectors>(weight);
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
      RUNNEL_UNROLL for (int f = 0; f < kFrames; ++f) sum[f][v] =
          vdotq_laneq_s32(sum[f][v], row.of[v], in[f], kQuad);
    }
  }
};

}  // namespace
}  // namespace runnel::kernels
