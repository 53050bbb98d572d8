#include "features/simd/table_impl.h"

namespace runnel::features {

const Kernels kKernelsRvv = table<8>();

}  // namespace runnel::features
