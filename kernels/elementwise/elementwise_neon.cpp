#include <arm_neon.h>

#include "kernels/elementwise/affine_loops.h"
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {
namespace {

// Four registers of a table look up 64 entries; a position beyond them leaves what was found before. As bytes
// without sign, positions begin with those of x = 0, in the middle of the table.
void lut8_neon(std::size_t count, const std::int8_t* x, std::int8_t* y, const std::int8_t* table) noexcept {
  constexpr std::size_t kWorthRows = 32;
  if (count < kWorthRows) return lut8_loops(count, x, y, table);
  const auto rows = [table](int first) {
    const std::int8_t* const at = table + first;
    return int8x16x4_t{{vld1q_s8(at), vld1q_s8(at + 16), vld1q_s8(at + 32), vld1q_s8(at + 48)}};
  };
  const int8x16x4_t parts[4] = {rows(128), rows(192), rows(0), rows(64)};
  const uint8x16_t step = vdupq_n_u8(64);
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    uint8x16_t at = vreinterpretq_u8_s8(vld1q_s8(x + i));
    int8x16_t found = vqtbl4q_s8(parts[0], at);
    for (int part = 1; part < 4; ++part) {
      at = vsubq_u8(at, step);
      found = vqtbx4q_s8(found, parts[part], at);
    }
    vst1q_s8(y + i, found);
  }
  lut8_loops(count - i, x + i, y + i, table);
}

constexpr Elementwise kNeon{binary_loops, requantize_loops, lut8_neon,
                            lut16_loops,  quantize_loops,   dequantize_loops};

}  // namespace

const Elementwise& elementwise_neon() noexcept { return kNeon; }
AffinePairs affine_pairs_neon() noexcept { return affine_loops; }
AffineConversions affine_conversions_neon() noexcept { return {quantize_loops, dequantize_loops, Isa::neon}; }

}  // namespace runnel::kernels
