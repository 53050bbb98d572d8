// Layers with float32 activations and int8 weights ("dynamic range"): each row of activations is quantized
// with its own scale, multiplied in integers, and scaled back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/float32/conv_float.h"
#include "kernels/int8_rows.h"

namespace runnel::kernels {

// q = round(x * 127 / max|x|), ties away from zero; returns the scale max|x| / 127. All zero for a row of
// zeros (scale 1).
float quantize_row(std::size_t count, const float* x, std::int8_t* q) noexcept;

struct HybridConvSpec {
  std::int32_t in_height = 1, in_width = 1, in_channels = 1;
  std::int32_t out_height = 1, out_width = 1, out_channels = 1;
  std::int32_t kernel_height = 1, kernel_width = 1;
  std::int32_t stride_height = 1, stride_width = 1, dilation_height = 1, dilation_width = 1;
  std::int32_t pad_top = 0, pad_left = 0, groups = 1;
  const void* weights = nullptr;  // int8 [out_channels][kernel_height][kernel_width][in_channels / groups]
  const void* bias = nullptr;     // float32 [out_channels]; or null
  const float* scales = nullptr;  // of the weights: 1, or one per output channel
  bool per_channel = false, relu = false;
  const Int8Rows* rows = nullptr;  // null: plain loops
  // Sums of at most kMaxFloatSum products of bytes are exact in float32, in any order: a convolution of
  // floats without bias computes them. Null: dot products of rows.
  const FloatConv* sums = nullptr;
  // Of single positions without padding: the weights for Int8Rows::products. Null: dot products of rows.
  const PackedBytes* packed = nullptr;

  [[nodiscard]] std::int64_t inputs() const noexcept {
    return std::int64_t{in_height} * in_width * in_channels;
  }
  // Bytes of scratch memory, 4-byte aligned.
  [[nodiscard]] std::size_t scratch_bytes() const noexcept;
};
inline constexpr std::int64_t kMaxFloatSum = (1 << 24) / (127 * 128);

// Sets `rows` and `sums` of a spec that is complete otherwise, as far as `isa` has them.
Status use_vectors(Isa isa, Memory& memory, HybridConvSpec& spec) noexcept;

// One input as one row. A fully connected layer is the 1x1 case
// of one position.
void hybrid_conv(const HybridConvSpec& spec, const float* x, float* y, void* scratch) noexcept;

}  // namespace runnel::kernels
