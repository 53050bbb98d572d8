// Convolutions for AArch64 with products of matrices of bytes.
#include "kernels/conv/conv_vector.h"
#include "kernels/conv/neon/conv_dots.h"
#include "kernels/conv/neon/conv_rows.h"

namespace runnel::kernels {
namespace {

// For layers whose single positions are dot products, and of which many streams run together (run_rows).
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
          RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) in[p] = vcombine_s8(
              vget_low_s8(four_bytes(x + 2 * p * x_step)), vget_low_s8(four_bytes(x + (2 * p + 1) * x_step)));
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

// The same where the weights lie as SMMLA takes them (WeightForm::eights): nothing is brought side by side,
// so that 4 loads of 64 bytes serve 32 products. For layers of several positions.
struct Eights : Dots {
  template <int kFrames, int kGroups, int kVectors, class Pieces, class To>
  RUNNEL_VECTOR void sums(const Pieces& pieces, std::int64_t x_step, std::int32_t quads,
                          const std::int8_t* weights, std::int64_t group_weights, const std::int32_t* bias,
                          const To& to) noexcept {
    for (int g = 0; g < kGroups; ++g) {
      one_group<kFrames, kVectors>(
          pieces, x_step, quads, weights + g * group_weights,
          bias + g * kVectors * 4, [&](int f, int v) __attribute__((always_inline))->int32x4_t & {
            return to(f, g, v);
          });
    }
  }

 private:
  template <int kFrames, int kVectors, class Pieces, class To>
  RUNNEL_VECTOR void one_group(const Pieces& pieces, std::int64_t x_step, std::int32_t quads,
                               const std::int8_t* weights, const std::int32_t* bias, const To& to) noexcept {
    constexpr int kPairs = (kFrames + 1) / 2;  // the last position of an odd number is its own neighbour
    const auto second = [](int p) { return 2 * p + 1 < kFrames ? 2 * p + 1 : 2 * p; };
    int32x4_t sum[kPairs][kVectors][2];  // channels 0 and 1 of a vector, then 2 and 3; two positions each
    RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
      const int64x2_t four = vreinterpretq_s64_s32(vld1q_s32(bias + v * 4));
      RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) {
        sum[p][v][0] = vreinterpretq_s32_s64(vdupq_laneq_s64(four, 0));
        sum[p][v][1] = vreinterpretq_s32_s64(vdupq_laneq_s64(four, 1));
      }
    }
    const auto add = [&](const int8x16_t* in) __attribute__((always_inline)) {
      const auto vectors = [&]<int kFirst>() __attribute__((always_inline)) {
        if constexpr (kFirst < kVectors) {
          constexpr int kHere = kFirst + 1 < kVectors ? 2 : 1;
          const auto row = next_row<2 * kHere>(weights);
          RUNNEL_UNROLL for (int v = 0; v < kHere; ++v) {
            RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) {
              int32x4_t(&of)[2] = sum[p][kFirst + v];
              of[0] = vmmlaq_s32(of[0], in[p], row.of[2 * v]);
              of[1] = vmmlaq_s32(of[1], in[p], row.of[2 * v + 1]);
            }
          }
        }
      };
      vectors.template operator()<0>();
      vectors.template operator()<2>();
    };
    pieces.each([&](const std::int8_t* x) __attribute__((always_inline)) {
      std::int32_t left = quads;
      _Pragma("GCC unroll 1") for (; left >= 4; left -= 4) {
        int8x16_t low[kPairs], high[kPairs];
        RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) {
          const int64x2_t a = vreinterpretq_s64_s8(vld1q_s8(x + 2 * p * x_step)),
                          b = vreinterpretq_s64_s8(vld1q_s8(x + second(p) * x_step));
          low[p] = vreinterpretq_s8_s64(vzip1q_s64(a, b));
          high[p] = vreinterpretq_s8_s64(vzip2q_s64(a, b));
        }
        add(low);
        add(high);
        x += 16;
      }
      // One quad is two: the weights of the second are zeros.
      _Pragma("GCC unroll 1") for (; left > 0; left -= 2) {
        int8x16_t in[kPairs];
        RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) in[p] =
            vcombine_s8(vld1_s8(x + 2 * p * x_step), vld1_s8(x + second(p) * x_step));
        add(in);
        x += 8;
      }
    });
    RUNNEL_UNROLL for (int p = 0; p < kPairs; ++p) {
      RUNNEL_UNROLL for (int v = 0; v < kVectors; ++v) {
        const int64x2_t low = vreinterpretq_s64_s32(sum[p][v][0]), high = vreinterpretq_s64_s32(sum[p][v][1]);
        to(2 * p, v) = vreinterpretq_s32_s64(vzip1q_s64(low, high));
        if (2 * p + 1 < kFrames) to(2 * p + 1, v) = vreinterpretq_s32_s64(vzip2q_s64(low, high));
      }
    }
  }
};

using Vectors = Neon<4, 4>;
template <class Dot, bool kPairs>
constexpr VectorConv kernels() noexcept {
  return {dense_kernels<Vectors, Dot>(), dense_kernels<Vectors, Dot>(),
          depthwise_kernels<Vectors, Rows<true>>(), depthwise_kernels<Vectors, Rows<kPairs>>()};
}
constexpr VectorConv kPairs = kernels<Matrices, true>(), kSingles = kernels<Matrices, false>(),
                     kEights = kernels<Eights, true>();

}  // namespace

const VectorConv& vector_conv_neoni8mm(WeightForm form, bool weights_pair) noexcept {
  if (form == WeightForm::eights) return kEights;
  return weights_pair ? kPairs : kSingles;
}

}  // namespace runnel::kernels
