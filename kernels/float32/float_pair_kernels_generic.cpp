#include "kernels/float32/float_pair_loops.h"

namespace runnel::kernels {

#if defined(__aarch64__)
constinit const FloatPairKernels kFloatPairsGeneric = pair_table<4>();
#else
constinit const FloatPairKernels kFloatPairsGeneric = pair_table<1>();
#endif

const FloatPairKernels& float_pair_kernels(Isa isa) noexcept {
#if defined(RUNNEL_KERNELS_X86)
  if (isa >= Isa::avx512) return kFloatPairsAvx512;
  if (isa == Isa::avx2) return kFloatPairsAvx2;
#endif
  static_cast<void>(isa);
  return kFloatPairsGeneric;
}

}  // namespace runnel::kernels
