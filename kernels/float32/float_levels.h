// The tables of the instruction levels, for float_kernels(isa) only.
#pragma once

#include "kernels/float32/float_kernels.h"

namespace runnel::kernels {

extern const FloatKernels kFloatGeneric, kFloatAvx2, kFloatAvx512, kFloatRvv;

}  // namespace runnel::kernels
