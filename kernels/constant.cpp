#include "kernels/constant.h"

#include "kernels/conv_device.h"
#include "kernels/conv_generic.h"
#include "kernels/elementwise_loops.h"

namespace runnel::kernels {

// The strictest of all builds decides, so that a program means the same for all.
bool constant_conv_fits(const ConvSpec& spec, std::int64_t largest) noexcept { return device_conv_fits(spec, largest); }

#if defined(RUNNEL_KERNELS_DEVICE)
void constant_conv_int8(const ConvSpec& spec, const void* x, void* y) noexcept { run_device_int8(spec, whole_of(spec), x, y); }
void constant_conv_int16(const ConvSpec& spec, const void* x, void* y) noexcept { run_device_int16(spec, whole_of(spec), x, y); }
#else
void constant_conv_int8(const ConvSpec& spec, const void* x, void* y) noexcept { run_generic_int8(spec, whole_of(spec), x, y); }
void constant_conv_int16(const ConvSpec& spec, const void* x, void* y) noexcept { run_generic_int16(spec, whole_of(spec), x, y); }
#endif

template <BinaryOp kOp, class T>
bool constant_binary(const BinarySpec& spec, const void* a, const void* b, void* y) noexcept {
#if defined(RUNNEL_KERNELS_DEVICE)
  if constexpr (kOp == BinaryOp::add && sizeof(T) == 1) {
    if (add_bytes_device(spec, a, b, y)) return true;
  }
#endif
  return binary32<kOp>(spec, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(y));
}
#define RUNNEL_CONSTANT_BINARY(op)                                                                                              \
  template bool constant_binary<BinaryOp::op, std::int8_t>(const BinarySpec&, const void*, const void*, void*) noexcept; \
  template bool constant_binary<BinaryOp::op, std::int16_t>(const BinarySpec&, const void*, const void*, void*) noexcept;
RUNNEL_CONSTANT_BINARY(add)
RUNNEL_CONSTANT_BINARY(sub)
RUNNEL_CONSTANT_BINARY(mul)
RUNNEL_CONSTANT_BINARY(max)
RUNNEL_CONSTANT_BINARY(min)
#undef RUNNEL_CONSTANT_BINARY

template <class T>
void constant_quantize(std::size_t count, const float* x, void* y, int exponent, Rounding rounding) noexcept {
  quantize_typed<T>(count, x, y, exponent, rounding);
}
template void constant_quantize<std::int8_t>(std::size_t, const float*, void*, int, Rounding) noexcept;
template void constant_quantize<std::int16_t>(std::size_t, const float*, void*, int, Rounding) noexcept;

template <class T>
void constant_dequantize(std::size_t count, const void* x, float* y, int exponent) noexcept {
  dequantize_typed<T>(count, x, y, exponent);
}
template void constant_dequantize<std::int8_t>(std::size_t, const void*, float*, int) noexcept;
template void constant_dequantize<std::int16_t>(std::size_t, const void*, float*, int) noexcept;

}  // namespace runnel::kernels
