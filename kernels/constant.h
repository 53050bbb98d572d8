// Kernels for operators that a compiler has bound ahead of time (compiler/embed): one function per operation
// and type, so that a program is linked with those that it calls and no others. Each gives the bits of the
// general form, where `..._fits` or its result says so.
#pragma once

#include "kernels/conv/conv.h"
#include "kernels/elementwise/elementwise.h"

namespace runnel::kernels {

// Whether the two below compute exactly what conv_reference does, on every processor; `largest`: no
// accumulator is larger.
bool constant_conv_fits(const ConvSpec& spec, std::int64_t largest) noexcept;
// DirectRun: `spec` is a ConvSpec, there is no addend.
void constant_conv_int8(const void* spec, const void* x, const void* addend, void* y) noexcept;
void constant_conv_int16(const void* spec, const void* x, const void* addend, void* y) noexcept;

// What remains of a convolution of int8 with one output position whose inputs are one run in memory (or of a
// fully connected layer), where shifts are ordinary ones: 1 to 30.
struct ConstantDense {
  const void* weights = nullptr;  // [channels][inputs]
  const void* bias = nullptr;     // [channels]; or null
  std::int32_t inputs = 0, channels = 0, in_zero_point = 0;
  Requant requant;
};
// The same of a depthwise one.
struct ConstantDepthwise {
  const void* weights = nullptr;                      // [channels][taps]
  const void* bias = nullptr;                         // [channels]; or null
  std::int32_t channels = 0, taps = 0, distance = 1;  // in frames from tap to tap
  std::int32_t in_zero_point = 0;
  Requant requant;
};
// Of a convolution that constant_conv_fits, laid down (conv_device.h). False where it has no such form.
bool as_constant(const ConvSpec& spec, ConstantDense& out) noexcept;
bool as_constant(const ConvSpec& spec, ConstantDepthwise& out) noexcept;
// DirectRun.
void constant_dense_int8(const void* dense, const void* x, const void* addend, void* y) noexcept;
void constant_depthwise_int8(const void* depthwise, const void* x, const void* addend, void* y) noexcept;

// For T = int8_t, int16_t. False, with nothing written, where the exponents are such that only the general
// form can do it.
template <BinaryOp kOp, class T>
bool constant_binary(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept;
// DirectRun: `spec` is a BinarySpec.
template <BinaryOp kOp, class T>
void run_constant_binary(const void* spec, const void* a, const void* b, void* y) noexcept {
  constant_binary<kOp, T>(*static_cast<const BinarySpec*>(spec), a, b, y);
}
// The same for sums of int8 where all exponents and all counts are equal: whether they are, and the sums.
bool is_plain_sum(const BinarySpec& spec) noexcept;
void constant_sum_int8(const void* spec, const void* a, const void* b, void* y) noexcept;

// DirectRun: `count` is a std::size_t: so many bytes from x to y.
void constant_copy(const void* count, const void* x, const void* addend, void* y) noexcept;

// y[i] = clamp(round(x[i] * 2^-exponent)), NaN gives 0.
template <class T>
void constant_quantize(std::size_t count, const float* x, void* y, int exponent, Rounding rounding) noexcept;
// y[i] = x[i] * 2^exponent.
template <class T>
void constant_dequantize(std::size_t count, const void* x, float* y, int exponent) noexcept;

}  // namespace runnel::kernels
