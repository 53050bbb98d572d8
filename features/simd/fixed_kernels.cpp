#include "features/simd/fixed_kernels.h"

namespace runnel::features {

const FixedKernels& fixed_kernels_for(Isa isa) noexcept {
  switch (isa) {
    case Isa::reference:
      return kFixedReference;
#if defined(RUNNEL_KERNELS_X86)
    case Isa::avx2:
      return kFixedAvx2;
    case Isa::avx512:
    case Isa::avx512vnni:
    case Isa::amx:
      return kFixedAvx512;
#endif
    default:
      break;
  }
  return kFixedGeneric;
}

}  // namespace runnel::features
