// Portable convolutions for every shape: weights in place, no scratch, loops that compilers vectorise.
#pragma once

#include "kernels/conv/conv.h"

namespace runnel::kernels {

// Requires that every accumulator fits: int32 for int8 (see accumulators_fit_int32), int64 for int16.
void run_generic_int8(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept;
void run_generic_int16(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept;

}  // namespace runnel::kernels
