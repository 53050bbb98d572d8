#include "kernels/float32/float_loops.h"

namespace runnel::kernels {

constinit const FloatKernels kFloatAvx2 = table<8, 2, 12>();

}  // namespace runnel::kernels
