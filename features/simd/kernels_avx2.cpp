#include "features/simd/table_impl.h"

namespace runnel::features {

const Kernels kKernelsAvx2 = table<8>();

}  // namespace runnel::features
