#include "features/simd/fixed_scalar.h"

namespace runnel::features {

const FixedKernels kFixedReference = kScalarTable;

}  // namespace runnel::features
