#include "kernels/rom_kernels.h"

#include <algorithm>
#include <cstring>

#include "kernels/conv/conv_generic.h"
#include "kernels/conv/device/conv_device.h"
#include "kernels/elementwise/elementwise_loops.h"

namespace runnel::kernels {

// The strictest build decides, so that a program means the same in all builds.
bool rom_conv_fits(const ConvSpec& spec, std::int64_t largest) noexcept {
  return device_conv_fits(spec, largest);
}

namespace {

// A Requant that needs no int64.
bool ordinary(const Requant& how) noexcept {
  return std::all_of(how.shift, how.shift + how.count,
                     [](std::int32_t shift) { return shift >= 1 && shift <= 30; });
}
// One output whose taps are all inside; columns only.
bool one_position(const ConvSpec& spec) noexcept {
  return spec.dtype == DType::int8 && spec.out_height == 1 && spec.out_width == 1 && spec.in_height == 1 &&
         spec.kernel_height == 1 && spec.pad_top == 0 && spec.pad_left == 0 &&
         (spec.kernel_width - 1) * spec.dilation_width < spec.in_width && !spec.add && ordinary(spec.requant);
}

}  // namespace

bool as_rom(const ConvSpec& spec, RomDense& out) noexcept {
  if (!one_position(spec) || spec.groups != 1 || (spec.kernel_width > 1 && spec.dilation_width != 1))
    return false;
  out = {spec.weights,      spec.bias,          spec.kernel_width * spec.in_channels,
         spec.out_channels, spec.in_zero_point, spec.requant};
  return true;
}

bool as_rom(const ConvSpec& spec, RomDepthwise& out) noexcept {
  if (!one_position(spec) || spec.groups == 1 || spec.groups != spec.in_channels ||
      spec.groups != spec.out_channels)
    return false;
  out = {spec.weights,        spec.bias,          spec.out_channels, spec.kernel_width,
         spec.dilation_width, spec.in_zero_point, spec.requant};
  return true;
}

#if defined(RUNNEL_KERNELS_DEVICE)
// The other two: conv_dsp.cpp or conv_helium.cpp.
void rom_conv_int8(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& s = *static_cast<const ConvSpec*>(spec);
  run_device_int8(s, whole_of(s), x, y);
}
void rom_conv_int16(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& s = *static_cast<const ConvSpec*>(spec);
  run_device_int16(s, whole_of(s), x, y);
}
#else
void rom_conv_int8(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& s = *static_cast<const ConvSpec*>(spec);
  run_generic_int8(s, whole_of(s), x, y);
}
void rom_conv_int16(const void* spec, const void* x, const void*, void* y) noexcept {
  const auto& s = *static_cast<const ConvSpec*>(spec);
  run_generic_int16(s, whole_of(s), x, y);
}
void rom_dense_int8(const void* dense, const void* x, const void*, void* y) noexcept {
  const auto& of = *static_cast<const RomDense*>(dense);
  ConvSpec spec;
  spec.in_channels = of.inputs;
  spec.out_channels = of.channels;
  spec.weights = of.weights;
  spec.bias = of.bias;
  spec.in_zero_point = of.in_zero_point;
  spec.requant = of.requant;
  run_generic_int8(spec, whole_of(spec), x, y);
}
void rom_depthwise_int8(const void* depthwise, const void* x, const void*, void* y) noexcept {
  const auto& of = *static_cast<const RomDepthwise*>(depthwise);
  ConvSpec spec;
  spec.in_width = (of.taps - 1) * of.distance + 1;
  spec.kernel_width = of.taps;
  spec.dilation_width = of.distance;
  spec.in_channels = spec.out_channels = spec.groups = of.channels;
  spec.weights = of.weights;
  spec.bias = of.bias;
  spec.in_zero_point = of.in_zero_point;
  spec.requant = of.requant;
  run_generic_int8(spec, whole_of(spec), x, y);
}
#endif

bool is_plain_sum(const BinarySpec& spec) noexcept {
  return spec.op == BinaryOp::add && spec.dtype == DType::int8 && spec.a_exponent == spec.y_exponent &&
         spec.b_exponent == spec.y_exponent && spec.a_count == spec.count && spec.b_count == spec.count;
}

void rom_sum_int8(const void* of, const void* a_void, const void* b_void, void* y_void) noexcept {
  const auto& spec = *static_cast<const BinarySpec*>(of);
#if defined(RUNNEL_KERNELS_DEVICE)
  if (add_bytes_device(spec, a_void, b_void, y_void)) return;
#endif
  const auto *a = static_cast<const std::int8_t*>(a_void), *b = static_cast<const std::int8_t*>(b_void);
  auto* y = static_cast<std::int8_t*>(y_void);
  const std::int32_t low = clamp_to<std::int32_t>(spec.low, -128, 127),
                     high = clamp_to<std::int32_t>(spec.high, -128, 127);
  for (std::size_t i = 0; i < spec.count; ++i)
    y[i] = static_cast<std::int8_t>(clamp_to<std::int32_t>(a[i] + b[i], low, high));
}

void rom_copy(const void* count, const void* x, const void*, void* y) noexcept {
  if (x != y) std::memcpy(y, x, *static_cast<const std::size_t*>(count));
}

template <BinaryOp kOp, class T>
bool rom_binary(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept {
#if defined(RUNNEL_KERNELS_DEVICE)
  if constexpr (kOp == BinaryOp::add && sizeof(T) == 1) {
    if (add_bytes_device(spec, a, b, y)) return true;
  }
#endif
  return binary32<kOp, T, false>(spec, static_cast<const T*>(a), static_cast<const T*>(b),
                                 static_cast<T*>(y));
}
#define RUNNEL_ROM_BINARY(op)                                                                       \
  template bool rom_binary<BinaryOp::op, std::int8_t>(const BinarySpec&, const void*, const void*,  \
                                                      void*) noexcept;                              \
  template bool rom_binary<BinaryOp::op, std::int16_t>(const BinarySpec&, const void*, const void*, \
                                                       void*) noexcept;
RUNNEL_ROM_BINARY(add)
RUNNEL_ROM_BINARY(sub)
RUNNEL_ROM_BINARY(mul)
RUNNEL_ROM_BINARY(max)
RUNNEL_ROM_BINARY(min)
#undef RUNNEL_ROM_BINARY

template <class T>
void rom_multiply(const void* of, const void* a, const void* b, void* y) noexcept {
  multiply_float(*static_cast<const BinarySpec*>(of), static_cast<const T*>(a), static_cast<const T*>(b),
                 static_cast<T*>(y));
}
template void rom_multiply<std::int8_t>(const void*, const void*, const void*, void*) noexcept;
template void rom_multiply<std::int16_t>(const void*, const void*, const void*, void*) noexcept;

template <class T>
void rom_quantize(std::size_t count, const float* x, void* y, int exponent, Rounding rounding) noexcept {
  quantize_typed<T>(count, x, y, exponent, rounding);
}
template void rom_quantize<std::int8_t>(std::size_t, const float*, void*, int, Rounding) noexcept;
template void rom_quantize<std::int16_t>(std::size_t, const float*, void*, int, Rounding) noexcept;

template <class T>
void rom_dequantize(std::size_t count, const void* x, float* y, int exponent) noexcept {
  dequantize_typed<T>(count, x, y, exponent);
}
template void rom_dequantize<std::int8_t>(std::size_t, const void*, float*, int) noexcept;
template void rom_dequantize<std::int16_t>(std::size_t, const void*, float*, int) noexcept;

}  // namespace runnel::kernels
