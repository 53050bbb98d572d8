// Convolutions for AArch64 with products of matrices of bytes.
#include "kernels/conv/conv_vector.h"
#include "kernels/conv/neon/conv_dots.h"
#include "kernels/conv/neon/conv_rows.h"

namespace runnel::kernels {
namespace {

// SMMLA multiplies eight inputs of two positions with the weights of two channels: 32 multiply-adds. Floor:
// 0.031, besides bringing the weights of two quads side by side, which four positions share. A single
// position would leave half of it empty: dot products.
struct Matrices : Dots {
  template <int kFrames, int kGroups, int kVectors, class Pieces, class To>
  RUNNEL_VECTOR void sums(const Pieces& pieces, std::int64_t x_step, std::int32_t quads,
                          const std::int8_t* weights, std::int64_t group_weights, const std::int32_t* bias,
                          const To& to) noexcept {
    if constexpr (kFrames == 1) {
      Dots::sums<kFrames, kGroups, kVectors>(pieces, x_step, quads, weights, group_weights, bias, to);
    } else {
      static_assert(kFrames % 2 == 0 && kGroups == 1);
      constexpr int kPairs = kFrames / 2;
      // Channels 0 and 1 of a vector, then 2 and 3; two positions each.
      int32x4_t sum[kPairs][kVectors][2];
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
        const int64x2_t four = vreinterpretq_s64_s32(vld1q_s32(bias + v * 4));
        RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) {
          sum[p][v][0] = vreinterpretq_s32_s64(vdupq_laneq_s64(four, 0));
          sum[p][v][1] = vreinterpretq_s32_s64(vdupq_laneq_s64(four, 1));
        }
      }
      const auto add = [&](const int8x16_t* in, int32x4_t first, int32x4_t second, int v)
          __attribute__((always_inline)) {
        const int8x16_t low = vreinterpretq_s8_s32(vzip1q_s32(first, second)),
                        high = vreinterpretq_s8_s32(vzip2q_s32(first, second));
        RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) {
          sum[p][v][0] = vmmlaq_s32(sum[p][v][0], in[p], low);
          sum[p][v][1] = vmmlaq_s32(sum[p][v][1], in[p], high);
        }
      };
      const auto ints = [](int8x16_t a) __attribute__((always_inline)) { return vreinterpretq_s32_s8(a); };
      pieces.each([&](const std::int8_t* x) __attribute__((always_inline)) {
        int8x16_t in[kPairs];
        std::int32_t left = quads;
        const auto add_two_quads = [&]<int kOffset>() __attribute__((always_inline)) {
          const auto vectors = [&]<int kFirst>() __attribute__((always_inline)) {
            if constexpr (kFirst < kVectors) {
              const auto w = two_quads<kVectors, kFirst, kOffset>(weights);
              RUNNEL_UNROLL for (int v = 0; v < 2 && kFirst + v < kVectors; ++v)
                  add(in, ints(w.first[v]), ints(w.second[v]), kFirst + v);
            }
          };
          vectors.template operator()<0>();
          vectors.template operator()<2>();
        };
        constexpr int kTwo = 2 * kVectors * kVectorBytes;
        _Pragma("GCC unroll 1") for (; left >= 4; left -= 4) {
          int64x2_t low[kPairs], high[kPairs];
          RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) {
            const int64x2_t a = vreinterpretq_s64_s8(vld1q_s8(x + 2 * p * x_step)),
                            b = vreinterpretq_s64_s8(vld1q_s8(x + (2 * p + 1) * x_step));
            low[p] = vzip1q_s64(a, b), high[p] = vzip2q_s64(a, b);
          }
          RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) in[p] = vreinterpretq_s8_s64(low[p]);
          add_two_quads.template operator()<0>();
          RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) in[p] = vreinterpretq_s8_s64(high[p]);
          add_two_quads.template operator()<kTwo>();
          weights += 2 * kTwo;
          x += 16;
        }
        if (left >= 2) {
          RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) in[p] =
              vcombine_s8(vld1_s8(x + 2 * p * x_step), vld1_s8(x + (2 * p + 1) * x_step));
          add_two_quads.template operator()<0>();
          weights += kTwo;
          x += 8;
          left -= 2;
        }
        if (left > 0) {
          RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) in[p] =
              vcombine_s8(vget_low_s8(four(x + 2 * p * x_step)), vget_low_s8(four(x + (2 * p + 1) * x_step)));
          const auto row = next_row<kVectors>(weights);
          RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) add(in, ints(row.of[v]), vdupq_n_s32(0), v);
        }
      });
      RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) {
        RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
          const int64x2_t low = vreinterpretq_s64_s32(sum[p][v][0]),
                          high = vreinterpretq_s64_s32(sum[p][v][1]);
          to(2 * p, 0, v) = vreinterpretq_s32_s64(vzip1q_s64(low, high));
          to(2 * p + 1, 0, v) = vreinterpretq_s32_s64(vzip2q_s64(low, high));
        }
      }
    }
  }
};

using Vectors = Neon<4, 4>;
constexpr VectorConv kPairs = {dense_kernels<Vectors, Matrices>(), dense_kernels<Vectors, Matrices>(),
                               depthwise_kernels<Vectors, Rows<true>>(),
                               depthwise_kernels<Vectors, Rows<true>>()};
constexpr VectorConv kSingles = {dense_kernels<Vectors, Matrices>(), dense_kernels<Vectors, Matrices>(),
                                 depthwise_kernels<Vectors, Rows<true>>(),
                                 depthwise_kernels<Vectors, Rows<false>>()};

}  // namespace

const VectorConv& vector_conv_neoni8mm(bool weights_pair) noexcept {
  return weights_pair ? kPairs : kSingles;
}

}  // namespace runnel::kernels
