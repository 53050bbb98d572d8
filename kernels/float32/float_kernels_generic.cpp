#include "kernels/float32/float_loops.h"

namespace runnel::kernels {

#if defined(__aarch64__)
constinit const FloatKernels kFloatGeneric = table<4, 2, 12>();
#else
constinit const FloatKernels kFloatGeneric = table<1, 4, 16>();
#endif

const FloatKernels& float_kernels(Isa isa) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx512) return kFloatAvx512;
  if (isa == Isa::avx2) return kFloatAvx2;
#elif defined(RUNNEL_KERNELS_RVV)
  if (isa == Isa::rvv) return kFloatRvv;
#endif
  static_cast<void>(isa);
  return kFloatGeneric;
}

}  // namespace runnel::kernels
