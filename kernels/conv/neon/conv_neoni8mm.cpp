// Convolutions for AArch64 with products of matrices of bytes.
#include "kernels/conv/conv_vector.h"
#include "kernels/conv/neon/conv_dots.h"

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
      const auto quad = [&](int v) __attribute__((always_inline)) {
        return vreinterpretq_s32_s8(Dots::weights(weights + v * kVectorBytes));
      };
      pieces.each([&](const std::int8_t* x) __attribute__((always_inline)) {
        int8x16_t in[kPairs];
        std::int32_t left = quads;
        _Pragma("GCC unroll 1") for (; left >= 2; left -= 2) {
          RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) in[p] =
              vcombine_s8(vld1_s8(x + 2 * p * x_step), vld1_s8(x + (2 * p + 1) * x_step));
          RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) add(in, quad(v), quad(kVectors + v), v);
          x += 8;
          weights += 2 * kVectors * kVectorBytes;
        }
        if (left > 0) {
          RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) in[p] =
              vcombine_s8(vget_low_s8(four(x + 2 * p * x_step)), vget_low_s8(four(x + (2 * p + 1) * x_step)));
          RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) add(in, quad(v), vdupq_n_s32(0), v);
          weights += kVectors * kVectorBytes;
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
constexpr VectorConv kMatrices = {dense_kernels<Vectors, Matrices>(), dense_kernels<Vectors, Matrices>(),
                                  depthwise_kernels<Vectors, Dots>(), depthwise_kernels<Vectors, Dots>()};

}  // namespace

const VectorConv& vector_conv_neoni8mm() noexcept { return kMatrices; }

}  // namespace runnel::kernels
