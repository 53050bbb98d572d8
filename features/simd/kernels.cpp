#include "features/simd/kernels.h"

namespace runnel::features {

const Kernels& kernels_for(Isa isa) noexcept {
  switch (isa) {
    case Isa::reference:
      return kKernelsReference;
#if defined(RUNNEL_KERNELS_X86)
    case Isa::avx2:
      return kKernelsAvx2;
    case Isa::avx512:
    case Isa::avx512vnni:
    case Isa::amx:
      return kKernelsAvx512;
#endif
#if defined(RUNNEL_KERNELS_RVV)
    case Isa::rvv:
      return kKernelsRvv;
#endif
    default:
      break;
  }
  return kKernelsGeneric;
}

}  // namespace runnel::features
