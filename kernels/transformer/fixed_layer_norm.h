// Layer normalization of integers with any scales, without floats: sums exact, the inverse of the standard
// deviation by a table of int16 as NPUs have them (513 entries, linear in between).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/dtype.h"
#include "kernels/elementwise/affine.h"

namespace runnel::kernels {

inline constexpr std::int32_t kMaxFixedNorm = 32767;     // elements that are normalized together
inline constexpr int kNormBits = 14;                     // fraction of normalized values
inline constexpr std::int32_t kMaxNormOffset = 1 << 26;  // of offsets

// Rows of `count` elements, each normalized for itself:
//   d_i = count x_i - sum x                          (count times the difference from the mean)
//   z_i = d_i / sqrt(count sum x^2 - (sum x)^2 + epsilon), kNormBits bits after the point
//   y_i = y_zero + result((z_i gain_i + 2^14 >> 15) + offset_i)
// The inverse root has 15 bits. The input's scale cancels out but for epsilon, its zero point always.
struct FixedLayerNormSpec {
  DType from = DType::int8, to = DType::int8;  // int8 or int16
  std::size_t rows = 0;
  std::int32_t count = 1;                // 1 to kMaxFixedNorm
  const std::int16_t* gain = nullptr;    // [count]
  const std::int32_t* offset = nullptr;  // [count], in units of 2^(15 - kNormBits) times gain's; or null
  std::int64_t epsilon = 0;              // in units of the input's scale squared / count^2; 0 to 2^61
  Multiplier result;                     // from offset's units to the output's
  std::int32_t y_zero = 0;
};

using FixedLayerNorm = void (*)(const FixedLayerNormSpec& spec, const void* x, void* y) noexcept;
// The specification. y may be x if types are the same.
void fixed_layer_norm(const FixedLayerNormSpec& spec, const void* x, void* y) noexcept;
// The fastest of at most this level that gives the same bits for `spec`.
FixedLayerNorm fixed_layer_norm_for(const FixedLayerNormSpec& spec, Isa isa) noexcept;

// The specification for one pair of types, as a direct call (kernels/elementwise/rom_elementwise.h) of
// programs whose operators are bound ahead of time: `spec` is a FixedLayerNormSpec.
template <class X, class Y>
void rom_layer_norm(const void* spec, const void* x, const void* b, void* y) noexcept;

// What all elements of a row share: z = (d * factor + 2^(shift - 1)) >> shift, 1 <= shift <= 32.
struct InverseRoot {
  std::int32_t factor = 0, shift = 1;
};
// For sums over `count` elements. `epsilon` as above.
InverseRoot inverse_root(std::int32_t count, std::int64_t sum, std::int64_t squares,
                         std::int64_t epsilon) noexcept;

}  // namespace runnel::kernels
