// Kernels for operators that a compiler has bound ahead of time (compiler/embed): one function per operation and type, so that a program is
// linked with those that it calls and no others. Each gives the bits of the general form, where `..._fits` or its result says so.
#pragma once

#include "kernels/conv.h"
#include "kernels/elementwise.h"

namespace runnel::kernels {

// Whether the two below compute exactly what conv_reference does, on every processor; `largest`: no accumulator is larger.
bool constant_conv_fits(const ConvSpec& spec, std::int64_t largest) noexcept;
void constant_conv_int8(const ConvSpec& spec, const void* x, void* y) noexcept;
void constant_conv_int16(const ConvSpec& spec, const void* x, void* y) noexcept;

// For T = int8_t, int16_t. False, with nothing written, where the exponents are such that only the general form can do it.
template <BinaryOp kOp, class T>
bool constant_binary(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept;

// y[i] = clamp(round(x[i] * 2^-exponent)), NaN gives 0.
template <class T>
void constant_quantize(std::size_t count, const float* x, void* y, int exponent, Rounding rounding) noexcept;
// y[i] = x[i] * 2^exponent.
template <class T>
void constant_dequantize(std::size_t count, const void* x, float* y, int exponent) noexcept;

}  // namespace runnel::kernels
