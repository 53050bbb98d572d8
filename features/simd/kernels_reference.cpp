#include "features/simd/table_impl.h"

namespace runnel::features {

const Kernels kKernelsReference = table<1>();

}  // namespace runnel::features
