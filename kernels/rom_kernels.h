// Kernels for operators bound ahead of time (compiler/embed): one function per operation and type, so that a
// program links only those it calls. Each gives the bits of the general form wherever its `..._fits` or its
// result is true.
#pragma once

#include "kernels/conv/conv.h"
#include "kernels/elementwise/elementwise.h"

namespace runnel::kernels {

// Whether the two below compute exactly what conv_reference does, on every processor; `largest`
// bounds every accumulator.
bool rom_conv_fits(const ConvSpec& spec, std::int64_t largest) noexcept;
// DirectRun: `spec` is a ConvSpec, there is no addend.
void rom_conv_int8(const void* spec, const void* x, const void* addend, void* y) noexcept;
void rom_conv_int16(const void* spec, const void* x, const void* addend, void* y) noexcept;

// An int8 convolution with one output position whose inputs are contiguous (or a fully connected layer), with
// ordinary shifts: 1 to 30.
struct RomDense {
  const void* weights = nullptr;  // [channels][inputs]
  const void* bias = nullptr;     // [channels]; or null
  std::int32_t inputs = 0, channels = 0, in_zero_point = 0;
  Requant requant;
};
// The same for a depthwise convolution.
struct RomDepthwise {
  const void* weights = nullptr;                      // [channels][taps]
  const void* bias = nullptr;                         // [channels]; or null
  std::int32_t channels = 0, taps = 0, distance = 1;  // in frames from tap to tap
  std::int32_t in_zero_point = 0;
  Requant requant;
};
// For a convolution after rom_conv_fits and lay_down (conv_device.h). False where it has no such form.
bool as_rom(const ConvSpec& spec, RomDense& out) noexcept;
bool as_rom(const ConvSpec& spec, RomDepthwise& out) noexcept;
// DirectRun.
void rom_dense_int8(const void* dense, const void* x, const void* addend, void* y) noexcept;
void rom_depthwise_int8(const void* depthwise, const void* x, const void* addend, void* y) noexcept;

// For T = int8_t, int16_t. False, with nothing written, where the exponents need the general form.
template <BinaryOp kOp, class T>
bool rom_binary(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept;
// DirectRun: `spec` is a BinarySpec.
template <BinaryOp kOp, class T>
void run_rom_binary(const void* spec, const void* a, const void* b, void* y) noexcept {
  rom_binary<kOp, T>(*static_cast<const BinarySpec*>(spec), a, b, y);
}
// DirectRun: the products of ESP-DL that go through float32, for T = int8_t, int16_t.
template <class T>
void rom_multiply(const void* spec, const void* a, const void* b, void* y) noexcept;
// DirectRun: the definition, for all operations, types and exponents; slow.
void rom_binary_any(const void* spec, const void* a, const void* b, void* y) noexcept;
// int8 sums whose exponents and counts are all equal: the test, and the sums.
bool is_plain_sum(const BinarySpec& spec) noexcept;
void rom_sum_int8(const void* spec, const void* a, const void* b, void* y) noexcept;

// DirectRun: copies *`count` (a std::size_t) bytes from x to y.
void rom_copy(const void* count, const void* x, const void* addend, void* y) noexcept;

// y[i] = clamp(round(x[i] * 2^-exponent)), NaN gives 0.
template <class T>
void rom_quantize(std::size_t count, const float* x, void* y, int exponent, Rounding rounding) noexcept;
// y[i] = x[i] * 2^exponent.
template <class T>
void rom_dequantize(std::size_t count, const void* x, float* y, int exponent) noexcept;

}  // namespace runnel::kernels
