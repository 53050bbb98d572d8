#include "kernels/float32/float_loops.h"

namespace runnel::kernels {

constinit const FloatKernels kFloatAvx512 = table<16, 4, 24>();

}  // namespace runnel::kernels
