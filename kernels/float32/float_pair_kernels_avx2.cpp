#include "kernels/float32/float_pair_loops.h"

namespace runnel::kernels {

constinit const FloatPairKernels kFloatPairsAvx2 = pair_table<8>();

}  // namespace runnel::kernels
