#include "features/simd/table_impl.h"

namespace runnel::features {

const Kernels kKernelsAvx512 = table<16>();

}  // namespace runnel::features
