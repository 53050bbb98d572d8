#include "kernels/float32/float_pair_loops.h"

namespace runnel::kernels {

constinit const FloatPairKernels kFloatPairsAvx512 = pair_table<16>();

}  // namespace runnel::kernels
