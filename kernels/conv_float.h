// Convolution and fully connected layers in float32; layouts and padding as in conv.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.h"
#include "base/status.h"

namespace runnel::kernels {

struct FloatConvSpec {
  std::int32_t in_height = 1, in_width = 1, in_channels = 1;
  std::int32_t out_height = 1, out_width = 1, out_channels = 1;
  std::int32_t kernel_height = 1, kernel_width = 1;
  std::int32_t stride_height = 1, stride_width = 1;
  std::int32_t dilation_height = 1, dilation_width = 1;
  std::int32_t pad_top = 0, pad_left = 0;
  std::int32_t groups = 1;
  const float* weights = nullptr;          // [out_channels][kernel_height][kernel_width][in_channels / groups]
  const float* bias = nullptr;             // [out_channels] or null
  bool relu = false;                       // negative results become 0
};

// Each result starts as its bias and takes its products in the order of the weights: kernel row, kernel column, input channel.
// Skipping a frame of padding and reading zeros give the same bits, so blocks of a stream equal the whole clip.
struct FloatConv {
  FloatConvSpec spec;
  const float* packed = nullptr;           // [kernel_height][kernel_width][in_channels / groups][out_channels]
  const float* bias = nullptr;             // [out_channels]
  void run(const float* x, float* y) const noexcept;
};

// Errors: invalid_argument for sizes that cannot be, weights or biases that are not finite (0 * inf is not 0); out_of_memory.
Status prepare_float_conv(const FloatConvSpec& spec, Memory& memory, FloatConv& conv) noexcept;

// The specification: plain loops over the weights as they are.
void float_conv_reference(const FloatConvSpec& spec, const float* x, float* y) noexcept;

}  // namespace runnel::kernels
