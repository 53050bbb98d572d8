// The kernels of ExecuTorch that are known, by name.
#pragma once

#include <span>
#include <string_view>

#include "compiler/import/pte/builder.h"

namespace runnel::compiler::pte_source {

struct Kernel {
  std::string_view name;  // "aten::add.out"
  // Operands, outputs included; a later version of a kernel may have more.
  std::size_t least = 0, most = 0;
  Status (*convert)(Builder& builder, const Call& call) = nullptr;
  std::string_view remarks = {};  // what is asked of it; docs/formats.md is made of it
};

// Null when there is none of that name.
const Kernel* find_kernel(std::string_view name);

// All of them.
std::span<const Kernel> kernels();

// A call of a delegate: a segment of the graph that stays opaque.
Status convert_delegate(Builder& builder, const Call& call, const Delegate& delegate,
                        std::span<const NamedData> named_data);

// Scales and zero points of the int8 tensors of a method, as far as its kernels say them.
std::map<std::int32_t, Scale> scales_of(const Method& method);

// ---- helpers of several conversions
// Two numbers, of a list of one or two. Errors: invalid_data when there are others or when they are outside.
struct Pair {
  int height = 1, width = 1;
};
Result<Pair> read_pair(Builder& builder, const Call& call, std::size_t position, std::int64_t low,
                       const Pair* otherwise = nullptr);
// Strides, paddings and dilations of convolutions and pools.
struct Steps {
  Pair stride, pad, dilation;

  template <class Options>
  void apply_to(Options& options) const {
    options.stride_height = stride.height;
    options.stride_width = stride.width;
    options.dilation_height = dilation.height;
    options.dilation_width = dilation.width;
    options.pad_top = options.pad_bottom = pad.height;
    options.pad_left = options.pad_right = pad.width;
  }
};
// Of a convolution: operands 3 to 5.
Result<Steps> read_steps(Builder& builder, const Call& call);
// Of a pool: kernel, stride, padding and, where it has one, dilation are operands 1 to 4.
Result<PoolOptions> read_pool_window(Builder& builder, const Call& call, bool dilated);
// a op b in float32 or plain int32, broadcast.
Result<Operand> binary(Builder& builder, const Call& call, OpCode code, const Operand& a, const Operand& b);
Operand scalar(float value);

}  // namespace runnel::compiler::pte_source
