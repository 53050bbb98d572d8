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
    return options->activation == Activation::relu;
  if (const auto* options = std::get_if<FullyConnectedOptions>(&node.options))
    return options->activation == Activation::relu;
  if (const auto* options = std::get_if<BinaryOptions>(&node.options))
    return options->activation == Activation::relu;
  if (const auto* options = std::get_if<TransposedConvOptions>(&node.options))
    return options->activation == Activation::relu;
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
    case OpCode::relu:
    case OpCode::softmax:
    case OpCode::abs:
    case OpCode::exp:
    case OpCode::sigmoid:
    case OpCode::hard_sigmoid:
    case OpCode::softplus:
    case OpCode::squared_difference:
    case OpCode::reduce_l1:
    case OpCode::reduce_l2:
    case OpCode::reduce_sum_square:
      return true;
    case OpCode::clip: {
      const auto* options = std::get_if<ClipOptions>(&node.options);
      return input(0) || (options != nullptr && options->low >= 0);
    }
    case OpCode::lut:
      return input(1);
    case OpCode::max:
      return input(0) || input(1);
    case OpCode::add:
    case OpCode::mul:
    case OpCode::matmul:
    case OpCode::div:
    case OpCode::min:
    case OpCode::concat:
      return every_input();
    case OpCode::pad: {
      const auto* options = std::get_if<PadOptions>(&node.options);
      return input(0) && options != nullptr && (options->mode != PadMode::zero || options->value >= 0);
    }
    case OpCode::prelu:
    case OpCode::swish:
    case OpCode::hard_swish:
    case OpCode::tanh:
    case OpCode::gelu:
    case OpCode::elu:
    case OpCode::leaky_relu:
    case OpCode::mish:
    case OpCode::sqrt:
    case OpCode::reduce_prod:
    case OpCode::average_pool:
    case OpCode::max_pool:
    case OpCode::requantize:
    case OpCode::quantize:
    case OpCode::dequantize:
    case OpCode::reshape:
    case OpCode::transpose:
    case OpCode::slice:
    case OpCode::split:
    case OpCode::reduce_mean:
    case OpCode::reduce_sum:
    case OpCode::reduce_max:
    case OpCode::reduce_min:
      return input(0);
    case OpCode::lp_norm:
    case OpCode::resize:
    case OpCode::depth_to_space:
    case OpCode::space_to_depth:
    case OpCode::gather:
    case OpCode::reverse_sequence:
    case OpCode::insert_zeros:
    case OpCode::streaming_cache:
    case OpCode::expand:
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
