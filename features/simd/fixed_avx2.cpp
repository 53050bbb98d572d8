#include "features/simd/fixed_impl.h"

namespace runnel::features {

const FixedKernels kFixedAvx2 = fixed_table<8>();

}  // namespace runnel::features
