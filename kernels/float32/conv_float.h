// Convolution and fully connected layers in float32; layouts and padding as in conv.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/float32/float_kernels.h"

namespace runnel::kernels {

struct FloatConvSpec {
  std::int32_t in_height = 1, in_width = 1, in_channels = 1;
  std::int32_t out_height = 1, out_width = 1, out_channels = 1;
  std::int32_t kernel_height = 1, kernel_width = 1;
  std::int32_t stride_height = 1, stride_width = 1;
  std::int32_t dilation_height = 1, dilation_width = 1;
  std::int32_t pad_top = 0, pad_left = 0;
  std::int32_t groups = 1;
  const float* weights = nullptr;  // [out_channels][kernel_height][kernel_width][in_channels / groups]
  const float* bias = nullptr;     // [out_channels] or null
  FloatLimits limits;
};

// A window of the input times the weights of a group, summed in float_matrix.h's order; depthwise
// convolutions (groups of one channel) in a single segment. Padding is read as zeros, so blocks of a stream
// equal the whole clip to the bit.
struct FloatConv {
  FloatConvSpec spec;
  const FloatKernels* kernels = nullptr;
  const FloatMatrix* matrices = nullptr;  // one per group; null: depthwise
  FloatDepthwise depthwise;
  std::int32_t gathered = 0;  // windows copied together before one product
  // Windows read where the image lies: the place of each factor from the first one on; null: not so.
  const std::int32_t* places = nullptr;
  // The image is copied with its padding, in bands for so many rows of results; 0: there is no padding.
  std::int32_t band = 0;
  std::size_t scratch_bytes = 0;  // for run()
  // `scratch`: scratch_bytes, aligned to 4. y is not x.
  void run(const float* x, float* y, void* scratch) const noexcept;

 private:
  void gather(std::int32_t group, std::int64_t first, std::int64_t last, const float* x, float* y,
              float* windows) const noexcept;
  void run_group(std::int32_t group, const float* x, float* y, float* windows) const noexcept;
  void run_places(const float* x, float* y, float* image) const noexcept;
};

// Errors: invalid_argument for impossible sizes, non-finite weights or biases (0 * inf is
// not 0); out_of_memory.
Status prepare_float_conv(const FloatConvSpec& spec, Isa isa, Memory& memory, FloatConv& conv) noexcept;

// The specification: plain loops over the weights as they are.
void float_conv_reference(const FloatConvSpec& spec, const float* x, float* y) noexcept;

}  // namespace runnel::kernels
