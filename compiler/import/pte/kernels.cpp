#include "compiler/import/pte/kernels.h"

#include <algorithm>
#include <array>

namespace runnel::compiler::pte_source {

// The conversions, by kind: convert/*.cpp.
Status convert_conv(Builder& builder, const Call& call);
Status convert_max_pool(Builder& builder, const Call& call);
Status convert_average_pool(Builder& builder, const Call& call);
Status convert_batch_norm(Builder& builder, const Call& call);
Status convert_binary(Builder& builder, const Call& call);
Status convert_function(Builder& builder, const Call& call);
Status convert_clip(Builder& builder, const Call& call);
Status convert_softmax(Builder& builder, const Call& call);
Status convert_mean(Builder& builder, const Call& call);
Status convert_product(Builder& builder, const Call& call);
Status convert_full(Builder& builder, const Call& call);
Status convert_copy(Builder& builder, const Call& call);
Status convert_assign(Builder& builder, const Call& call);
Status convert_permute(Builder& builder, const Call& call);
Status convert_unsqueeze(Builder& builder, const Call& call);
Status convert_squeeze(Builder& builder, const Call& call);
Status convert_view(Builder& builder, const Call& call);
Status convert_select(Builder& builder, const Call& call);
Status convert_slice(Builder& builder, const Call& call);
Status convert_cat(Builder& builder, const Call& call);
Status convert_split(Builder& builder, const Call& call);
Status convert_quantize(Builder& builder, const Call& call);
Status convert_dequantize(Builder& builder, const Call& call);
Status convert_quantize_channels(Builder& builder, const Call& call);
Status convert_dequantize_channels(Builder& builder, const Call& call);
Status convert_quantized_conv(Builder& builder, const Call& call);
Status convert_quantized_depthwise(Builder& builder, const Call& call);
Status convert_quantized_linear(Builder& builder, const Call& call);
Status convert_quantized_average_pool(Builder& builder, const Call& call);
Status convert_quantized_max_pool(Builder& builder, const Call& call);
Status convert_quantized_pad(Builder& builder, const Call& call);
namespace {

constexpr std::string_view kFloats = "float32", kNumbers = "float32 and int32 (wraps round)";

constexpr std::array kKernels = {
    // portable
    Kernel{"aten::convolution.out", 11, 11, convert_conv,
           "one or two axes, constant weights, not transposed"},
    Kernel{"aten::max_pool2d_with_indices.out", 9, 9, convert_max_pool,
           "the places of the maxima must not be read"},
    Kernel{"aten::avg_pool2d.out", 9, 9, convert_average_pool, "no divisor of its own"},
    Kernel{"aten::_native_batch_norm_legit_no_training.out", 11, 11, convert_batch_norm,
           "becomes part of the convolution in front"},
    Kernel{"aten::add.out", 5, 5, convert_binary,
           "float32 and int32 (wraps round); `alpha` other than 1: float32"},
    Kernel{"aten::sub.out", 5, 5, convert_binary,
           "float32 and int32 (wraps round); `alpha` other than 1: float32"},
    Kernel{"aten::mul.out", 4, 4, convert_binary, kNumbers},
    Kernel{"aten::div.out", 4, 4, convert_binary, kFloats},
    Kernel{"aten::maximum.out", 4, 4, convert_binary, kNumbers},
    Kernel{"aten::minimum.out", 4, 4, convert_binary, kNumbers},
    Kernel{"aten::relu.out", 3, 3, convert_function, kFloats},
    Kernel{"aten::sigmoid.out", 3, 3, convert_function, kFloats},
    Kernel{"aten::tanh.out", 3, 3, convert_function, kFloats},
    Kernel{"aten::exp.out", 3, 3, convert_function, kFloats},
    Kernel{"aten::log.out", 3, 3, convert_function, kFloats},
    Kernel{"aten::sqrt.out", 3, 3, convert_function, kFloats},
    Kernel{"aten::abs.out", 3, 3, convert_function, kFloats},
    Kernel{"aten::neg.out", 3, 3, convert_function, kFloats},
    Kernel{"aten::hardtanh.out", 5, 5, convert_clip, kFloats},
    Kernel{"aten::clamp.out", 5, 5, convert_clip, kFloats},
    Kernel{"aten::_softmax.out", 5, 5, convert_softmax, kFloats},
    Kernel{"aten::_log_softmax.out", 5, 5, convert_softmax, kFloats},
    Kernel{"aten::mean.out", 6, 6, convert_mean, kFloats},
    Kernel{"aten::addmm.out", 7, 7, convert_product, "beta and alpha 1"},
    Kernel{"aten::mm.out", 4, 4, convert_product, kFloats},
    Kernel{"aten::bmm.out", 4, 4, convert_product, kFloats},
    Kernel{"aten::full.out", 4, 4, convert_full},
    Kernel{"aten::clone.out", 4, 4, convert_copy},
    Kernel{"dim_order_ops::_clone_dim_order.out", 5, 5, convert_copy},
    Kernel{"dim_order_ops::_to_dim_order_copy.out", 5, 5, convert_copy},
    Kernel{"aten::copy_", 3, 4, convert_assign},
    Kernel{"aten::copy_.out", 4, 5, convert_assign},
    Kernel{"aten::copy.out", 5, 5, convert_assign},
    Kernel{"aten::permute_copy.out", 4, 4, convert_permute},
    Kernel{"aten::unsqueeze_copy.out", 4, 4, convert_unsqueeze},
    Kernel{"aten::squeeze_copy.dim_out", 4, 4, convert_squeeze},
    Kernel{"aten::squeeze_copy.dims_out", 4, 4, convert_squeeze},
    Kernel{"aten::view_copy.out", 4, 4, convert_view},
    Kernel{"executorch_prim::et_view.default", 3, 3, convert_view},
    Kernel{"aten::select_copy.int_out", 5, 5, convert_select},
    Kernel{"aten::slice_copy.Tensor_out", 7, 7, convert_slice},
    Kernel{"aten::cat.out", 4, 4, convert_cat},
    Kernel{"aten::split_with_sizes_copy.out", 5, 5, convert_split},
    // quantized_decomposed: newer versions take the type of the output as an extra operand
    Kernel{"quantized_decomposed::quantize_per_tensor.out", 8, 8, convert_quantize},
    Kernel{"quantized_decomposed::dequantize_per_tensor.out", 8, 9, convert_dequantize},
    Kernel{"quantized_decomposed::quantize_per_channel.out", 9, 9, convert_quantize_channels,
           "one zero point for all"},
    Kernel{"quantized_decomposed::dequantize_per_channel.out", 9, 10, convert_dequantize_channels},
    // cortex_m
    Kernel{"cortex_m::quantize_per_tensor.out", 8, 8, convert_quantize},
    Kernel{"cortex_m::dequantize_per_tensor.out", 8, 8, convert_dequantize},
    Kernel{"cortex_m::quantized_conv2d.out", 15, 15, convert_quantized_conv},
    Kernel{"cortex_m::quantized_depthwise_conv2d.out", 16, 16, convert_quantized_depthwise},
    Kernel{"cortex_m::quantized_linear.out", 13, 13, convert_quantized_linear},
    Kernel{"cortex_m::quantized_avg_pool2d.out", 11, 11, convert_quantized_average_pool},
    Kernel{"cortex_m::quantized_max_pool2d.out", 12, 12, convert_quantized_max_pool},
    Kernel{"cortex_m::pad.out", 6, 6, convert_quantized_pad, "of nothing only"},
    Kernel{"cortex_m::transpose.out", 4, 4, convert_permute},
};

}  // namespace

std::span<const Kernel> kernels() { return kKernels; }

const Kernel* find_kernel(std::string_view name) {
  const auto* const found = std::ranges::find(kKernels, name, &Kernel::name);
  return found == kKernels.end() ? nullptr : found;
}

Result<Pair> read_pair(Builder& builder, const Call& call, std::size_t position, std::int64_t low,
                       const Pair* otherwise) {
  RUNNEL_ASSIGN(const auto numbers, builder.integers(call, position));
  if (numbers.empty() && otherwise != nullptr) return *otherwise;
  if (numbers.empty() || numbers.size() > 2)
    return call.fail() << "operand " << position << " has " << numbers.size() << " numbers, expected 1 or 2";
  constexpr std::int64_t kMax = 1 << 16;
  for (const std::int64_t number : numbers) {
    if (number < low || number > kMax)
      return call.fail() << "operand " << position << " has " << number << ", expected " << low << " to "
                         << kMax;
  }
  return Pair{static_cast<int>(numbers.front()), static_cast<int>(numbers.back())};
}

}  // namespace runnel::compiler::pte_source
