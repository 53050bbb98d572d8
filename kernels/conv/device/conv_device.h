// Convolutions for microcontrollers (Arm's DSP extension and Helium, RISC-V): weights in place, no scratch. A
// build for such a processor has one implementation of the last two functions, chosen at configuration
// (RUNNEL_KERNELS_DEVICE); other builds have none.
#pragma once

#include "kernels/conv/conv.h"

namespace runnel::kernels {

// Whether they compute exactly what conv_reference does; `largest` bounds every accumulator. They do not for
// accumulators of 2^30 and more, for multipliers that are not normalized or have shifts of 32 and more, and
// for int16 with a zero point.
bool device_conv_fits(const ConvSpec& spec, std::int64_t largest) noexcept;
// Swaps rows and columns of a convolution with one column: neighbouring taps are contiguous then.
void lay_down(ConvSpec& spec) noexcept;
void run_device_int8(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept;
void run_device_int16(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept;

}  // namespace runnel::kernels
