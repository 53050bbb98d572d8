#include "compiler/passes/non_negative.h"

#include <algorithm>
#include <cstring>

namespace runnel::compiler {
namespace {

template <class T>
bool all_non_negative(const std::vector<std::byte>& data) {
  for (std::size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, data.data() + at, sizeof(T));
    if (value < 0) return false;
  }
  return true;
}

bool constant_is_non_negative(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::int8:
      return all_non_negative<std::int8_t>(*tensor.data);
    case DType::int16:
      return all_non_negative<std::int16_t>(*tensor.data);
    default:
      return false;
  }
}

bool symmetric(const Tensor& tensor) {
  return std::all_of(tensor.zero_points.begin(), tensor.zero_points.end(),
                     [](std::int32_t zero) { return zero == 0; });
}

bool fused_relu(const Node& node) {
  if (const auto* options = std::get_if<ConvOptions>(&node.options))
    return options->activation == fb::Activation::relu;
  if (const auto* options = std::get_if<FullyConnectedOptions>(&node.options))
    return options->activation == fb::Activation::relu;
  if (const auto* options = std::get_if<BinaryOptions>(&node.options))
    return options->activation == fb::Activation::relu;
  if (const auto* options = std::get_if<TransposedConvOptions>(&node.options))
    return options->activation == fb::Activation::relu;
  return false;
}

bool output_is_non_negative(const Graph& graph, const Node& node) {
  const auto input = [&](std::size_t position) {
    return position < node.inputs.size() && node.inputs[position] != kAbsent &&
           graph.tensors[static_cast<std::size_t>(node.inputs[position])].non_negative;
  };
  const auto every_input = [&] {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!input(i)) return false;
    }
    return !node.inputs.empty();
  };
  if (fused_relu(node)) return true;
  switch (node.code) {
    case fb::OpCode::relu:
    case fb::OpCode::softmax:
    case fb::OpCode::abs:
    case fb::OpCode::exp:
    case fb::OpCode::sigmoid:
    case fb::OpCode::hard_sigmoid:
    case fb::OpCode::softplus:
    case fb::OpCode::squared_difference:
    case fb::OpCode::reduce_l1:
    case fb::OpCode::reduce_l2:
    case fb::OpCode::reduce_sum_square:
      return true;
    case fb::OpCode::clip: {
      const auto* options = std::get_if<ClipOptions>(&node.options);
      return input(0) || (options != nullptr && options->low >= 0);
    }
    case fb::OpCode::lut:
      return input(1);
    case fb::OpCode::max:
      return input(0) || input(1);
    case fb::OpCode::add:
    case fb::OpCode::mul:
    case fb::OpCode::matmul:
    case fb::OpCode::div:
    case fb::OpCode::min:
    case fb::OpCode::concat:
      return every_input();
    case fb::OpCode::pad: {
      const auto* options = std::get_if<PadOptions>(&node.options);
      return input(0) && options != nullptr && (options->mode != fb::PadMode::zero || options->value >= 0);
    }
    case fb::OpCode::prelu:
    case fb::OpCode::swish:
    case fb::OpCode::hard_swish:
    case fb::OpCode::tanh:
    case fb::OpCode::gelu:
    case fb::OpCode::elu:
    case fb::OpCode::leaky_relu:
    case fb::OpCode::mish:
    case fb::OpCode::sqrt:
    case fb::OpCode::reduce_prod:
    case fb::OpCode::average_pool:
    case fb::OpCode::max_pool:
    case fb::OpCode::requantize:
    case fb::OpCode::quantize:
    case fb::OpCode::dequantize:
    case fb::OpCode::reshape:
    case fb::OpCode::transpose:
    case fb::OpCode::slice:
    case fb::OpCode::split:
    case fb::OpCode::reduce_mean:
    case fb::OpCode::reduce_sum:
    case fb::OpCode::reduce_max:
    case fb::OpCode::reduce_min:
      return input(0);
    case fb::OpCode::lp_norm:
    case fb::OpCode::resize:
    case fb::OpCode::depth_to_space:
    case fb::OpCode::space_to_depth:
    case fb::OpCode::gather:
    case fb::OpCode::reverse_sequence:
    case fb::OpCode::insert_zeros:
    case fb::OpCode::streaming_cache:
    case fb::OpCode::expand:
      return input(0);
    default:
      return false;
  }
}

}  // namespace

void mark_non_negative(Graph& graph, const Node& node) {
  for (const TensorId id : node.inputs) {
    if (id == kAbsent) continue;
    Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    if (tensor.data && !tensor.non_negative && symmetric(tensor))
      tensor.non_negative = constant_is_non_negative(tensor);
  }
  if (!output_is_non_negative(graph, node)) return;
  for (const TensorId id : node.outputs) {
    Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    if (symmetric(tensor)) tensor.non_negative = true;
  }
}

void mark_non_negative(Graph& graph) {
  for (const Node& node : graph.nodes) mark_non_negative(graph, node);
}

}  // namespace runnel::compiler
