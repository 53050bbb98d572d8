// Element-by-element operations for NEW: the shared loops, compiled for its instructions, and a loop of its
// own for tables of 8 bits. Copy to kernels/elementwise/elementwise_NEW.cpp and replace "skeleton".
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {

// In the real file this line is in kernels/elementwise/elementwise_levels.h.
const Elementwise& elementwise_skeleton() noexcept;

namespace {

// y[i] = table[x[i] + 128]: here the intrinsics of NEW take as many elements at once as fit; the shared loop
// takes the rest, and all lengths that are shorter.
void lut8_skeleton(std::size_t count, const std::int8_t* x, std::int8_t* y,
                   const std::int8_t* table) noexcept {
  constexpr std::size_t kLanes = 16;
  std::size_t done = 0;
  for (; done + kLanes <= count; done += kLanes) {
    for (std::size_t i = done; i < done + kLanes; ++i) y[i] = table[x[i] + 128];
  }
  lut8_loops(count - done, x + done, y + done, table);
}

constexpr Elementwise kSkeleton{binary_loops, requantize_loops, lut8_skeleton,
                                lut16_loops,  quantize_loops,   dequantize_loops};

}  // namespace

const Elementwise& elementwise_skeleton() noexcept { return kSkeleton; }

}  // namespace runnel::kernels
