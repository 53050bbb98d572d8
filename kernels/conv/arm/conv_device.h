// Convolutions for Arm's instructions on microcontrollers (DSP extension, Helium): weights in place, no
// scratch. A build for such a processor has one implementation of the last two functions, chosen when it is
// configured (RUNNEL_KERNELS_DEVICE); other builds have none.
#pragma once

#include "kernels/conv/conv.h"

namespace runnel::kernels {

// Whether they compute exactly what conv_reference does; `largest`: no accumulator is larger. What does not
// fit: accumulators of 2^30 and more, multipliers that are not normalized, shifts of 32 and more with them,
// and int16 with a zero point.
bool device_conv_fits(const ConvSpec& spec, std::int64_t largest) noexcept;
// The same convolution with rows instead of columns where there is one column: neighbouring taps are one run
// in memory then.
void lay_down(ConvSpec& spec) noexcept;
void run_device_int8(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept;
void run_device_int16(const ConvSpec& spec, const ConvPart& part, const void* x, void* y) noexcept;

}  // namespace runnel::kernels
