#if defined(__SSE2__)
#include "features/simd/fixed_impl.h"
#else
#include "features/simd/fixed_scalar.h"
#endif

namespace runnel::features {

// Vectors where every machine of the kind has them; plain loops elsewhere.
#if defined(__SSE2__)
const FixedKernels kFixedGeneric = fixed_table<4>();
#else
const FixedKernels kFixedGeneric = kScalarTable;
#endif

}  // namespace runnel::features
