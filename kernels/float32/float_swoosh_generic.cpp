#include "kernels/float32/float_swoosh_loop.h"

namespace runnel::kernels {

void swoosh_generic(const Swoosh& spec, std::size_t count, const float* x, float* y) noexcept {
#if defined(__aarch64__)
  swoosh_loop<4>(spec, count, x, y);
#else
  swoosh_loop<1>(spec, count, x, y);
#endif
}

SwooshKernel float_swoosh(Isa isa) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx512) return swoosh_avx512;
  if (isa == Isa::avx2) return swoosh_avx2;
#endif
  static_cast<void>(isa);
  return swoosh_generic;
}

}  // namespace runnel::kernels
