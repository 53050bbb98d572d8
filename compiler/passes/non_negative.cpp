#include "compiler/passes/non_negative.h"

#include <algorithm>
#include <cstring>

#include "inference/host/operator_traits.h"

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
  switch (traits_of(node.code).sign) {
    case Sign::unknown:
      return false;
    case Sign::never_negative:
      return true;
    case Sign::as_first:
      return input(0);
    case Sign::as_second:
      return input(1);
    case Sign::as_any:
      return input(0) || input(1);
    case Sign::as_all:
      return every_input();
    case Sign::of_options:
      break;
  }
  if (const auto* clip = std::get_if<ClipOptions>(&node.options)) return input(0) || clip->low >= 0;
  if (const auto* pad = std::get_if<PadOptions>(&node.options))
    return input(0) && (pad->mode != PadMode::zero || pad->value >= 0);
  return node.code == OpCode::clip && input(0);
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
