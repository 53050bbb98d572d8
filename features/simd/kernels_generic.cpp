#include "features/simd/table_impl.h"

namespace runnel::features {

// Four lanes where every machine of the architecture has them; elsewhere only the reference, which
// keeps firmware small.
#if defined(__SSE2__) || defined(__ARM_NEON) || defined(__wasm_simd128__)
const Kernels kKernelsGeneric = table<4>();
#endif

}  // namespace runnel::features
