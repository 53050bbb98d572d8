// Attention of integers with any scales, without floats: scores and weighted sums exact, exponentials and one
// division by TensorFlow Lite's tables of int16 (affine_softmax.h), which NPUs have, too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/dtype.h"
#include "kernels/elementwise/affine.h"

namespace runnel::kernels {

// Scores are integers of this unit: a key whose score is kScoreSpan units below the largest one has the
// weight e^-10.
inline constexpr std::int32_t kScoreSpan = 65535;
inline constexpr double kScoreUnit = 10.0 / kScoreSpan;
// Most keys that a query sees: their weights, of 15 bits, sum up within 31.
inline constexpr std::int64_t kMaxFixedKeys = 65535;
inline constexpr int kMixBits = 14;  // fraction of a weighted mean of values

// The sums of one instruction level. Rows are `stride` elements apart.
struct FixedAttentionSums {
  // sums[i] = sum over c of q[c] * rows[i][c]; |q| <= 255 for rows of int8; size <= 65536.
  void (*products8)(std::int32_t size, const std::int16_t* q, const std::int8_t* rows, std::int64_t stride,
                    std::int64_t count, std::int64_t* sums) noexcept;
  void (*products16)(std::int32_t size, const std::int16_t* q, const std::int16_t* rows, std::int64_t stride,
                     std::int64_t count, std::int64_t* sums) noexcept;
  // sums[c] = sum over i of weights[i] * rows[i][c]; weights >= 0.
  void (*mix8)(std::int64_t count, const std::int16_t* weights, const std::int8_t* rows, std::int64_t stride,
               std::int32_t size, std::int64_t* sums) noexcept;
  void (*mix16)(std::int64_t count, const std::int16_t* weights, const std::int16_t* rows,
                std::int64_t stride, std::int32_t size, std::int64_t* sums) noexcept;
};
const FixedAttentionSums& fixed_attention_sums(Isa isa) noexcept;
// Plain loops for one type, null for the other: constants of programs that link no more.
extern const FixedAttentionSums kAttentionSums8, kAttentionSums16;

struct FixedAttentionSpec {
  DType dtype = DType::int8;  // of everything but biases: int8 or int16
  std::int32_t key_size = 1, value_size = 1;
  std::int32_t distance_size = 0;  // channels of a query after its first key_size, for rows of distances
  std::int64_t key_stride = 1, value_stride = 1, distance_stride = 0;  // elements from row to row
  // Zero points. That of the keys adds the same to all scores of a query and plays no part.
  std::int32_t query_zero = 0, value_zero = 0, y_zero = 0;
  Multiplier score;     // from products of queries and keys to kScoreUnit
  Multiplier distance;  // from products of queries and rows of distances to kScoreUnit
  Multiplier result;    // from values * 2^-kMixBits to the output
  const FixedAttentionSums* sums = nullptr;

  // Bytes of scratch memory for up to `count` keys, 16-byte aligned.
  [[nodiscard]] std::size_t scratch_bytes(std::int64_t count) const noexcept;
};

// One query over `count` keys, 1 <= count <= kMaxFixedKeys:
//   score_i = score(sum (q - query_zero) k_i) + distance(sum (q' - query_zero) d_i) + bias_i, within 31 bits;
//   w_i = e^(score_i - largest score), 15 bits, by table;
//   y = y_zero + result(sum w_i (v_i - value_zero) / sum w_i), the quotient by table with kMixBits more bits.
// bias (in kScoreUnit) and distances may be null.
void attend(const FixedAttentionSpec& spec, std::int64_t count, const void* query, const void* keys,
            const void* values, const std::int32_t* bias, const void* distances, void* y,
            std::byte* scratch) noexcept;
// The same for one type: T is std::int8_t or std::int16_t, and that of `spec`.
template <class T>
void attend_as(const FixedAttentionSpec& spec, std::int64_t count, const T* query, const T* keys,
               const T* values, const std::int32_t* bias, const T* distances, T* y,
               std::byte* scratch) noexcept;

}  // namespace runnel::kernels
