#if defined(__SSE2__) || defined(__wasm_simd128__)
#include "features/simd/fixed_impl.h"

namespace runnel::features {

// Vectors where every machine of the architecture has them; elsewhere only the reference.
const FixedKernels kFixedGeneric = fixed_table<4>();

}  // namespace runnel::features
#endif
