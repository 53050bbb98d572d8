// Transposed convolution in polyphase form: every output gathers its inputs, so nothing is added to a rounded
// result. Channels last; one dimension has height 1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/memory.h"
#include "base/status.h"
#include "kernels/arithmetic/requantize.h"

namespace runnel::kernels {

// Output position f of an axis is m = f + offset of the full result: y[f] sums x[i] * w[tap] over i*stride +
// tap*dilation = m.
struct TransposedAxis {
  std::int32_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1;
  std::int64_t offset = 0;
};

struct TransposedConvSpec {
  DType dtype = DType::int8;  // of x, weights and y: int8 or int16
  TransposedAxis height, width;
  std::int32_t in_channels = 1, out_channels = 1, groups = 1;
  const void* weights = nullptr;  // [out_channels][kernel height][kernel width][in_channels / groups]
  const void* bias = nullptr;     // int32 for int8, int64 for int16, [out_channels]; or null
  Requant requant;
};

// The specification: plain loops in the order of the formula, int64 sums.
void transposed_conv_reference(const TransposedConvSpec& spec, const void* x, void* y) noexcept;

// The same with weights transposed to [group][kernel height][kernel width][input channel][output channel], so
// that the innermost loop runs over output channels.
struct TransposedConv {
  TransposedConvSpec spec;
  const void* packed = nullptr;
  std::size_t scratch_bytes = 0;  // 8-byte aligned
};
// Fails with out_of_memory.
Status prepare_transposed_conv(const TransposedConvSpec& spec, Memory& memory, TransposedConv& conv) noexcept;
void run_transposed_conv(const TransposedConv& conv, const void* x, void* y, void* scratch) noexcept;

}  // namespace runnel::kernels
