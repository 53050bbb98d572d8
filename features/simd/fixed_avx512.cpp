#include "features/simd/fixed_impl.h"

namespace runnel::features {

const FixedKernels kFixedAvx512 = fixed_table<16>();

}  // namespace runnel::features
