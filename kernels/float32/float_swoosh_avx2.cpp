#include "kernels/float32/float_swoosh_loop.h"

namespace runnel::kernels {

void swoosh_avx2(const Swoosh& spec, std::size_t count, const float* x, float* y) noexcept {
  swoosh_loop<8>(spec, count, x, y);
}

}  // namespace runnel::kernels
