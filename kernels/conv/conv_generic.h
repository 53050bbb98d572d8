// Portable convolutions of every shape: weights in place, no scratch, loops that compilers vectorise.
#pragma once

#include "kernels/conv/conv.h"

namespace runnel::kernels {

// Every accumulator must fit: int32 for int8, int64 for int16 (see largest_accumulator).
void run_generic_int8(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept;
void run_generic_int16(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept;

}  // namespace runnel::kernels
