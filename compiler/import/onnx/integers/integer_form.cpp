#include "compiler/import/onnx/integers/integer_form.h"

#include <algorithm>

#include "compiler/passes/non_negative.h"
#include "compiler/passes/simplify/tidy.h"
#include "inference/host/operator_traits.h"

namespace runnel::compiler {

Uses::Uses(const Graph& graph) : maker(graph.tensors.size(), -1), readers(graph.tensors.size(), 0) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const TensorId id : graph.nodes[i].inputs) {
      if (id >= 0) ++readers[static_cast<std::size_t>(id)];
    }
    for (const TensorId id : graph.nodes[i].outputs)
      maker[static_cast<std::size_t>(id)] = static_cast<int>(i);
  }
  for (const TensorId id : graph.outputs) ++readers[static_cast<std::size_t>(id)];
}

bool moves_data(const Node& node) { return traits_of(node.code).moves; }

std::size_t moved_inputs(const Node& node) { return node.code == OpCode::concat ? node.inputs.size() : 1; }

void to_signed(Graph& graph) {
  constexpr int kShift = 128;
  const auto shifted = [](const Tensor& tensor) {
    return tensor.dtype == DType::uint8 && tensor.scales.size() == 1 && tensor.zero_points.size() == 1;
  };
  const std::size_t count = graph.tensors.size();
  const auto replace = [](std::vector<TensorId>& ids, TensorId from, TensorId to) {
    std::replace(ids.begin(), ids.end(), from, to);
  };
  // Inputs and outputs stay: a twin does what is inside.
  std::vector<Node> before, after;
  const auto twin = [&](TensorId id) {
    Tensor made = graph.tensors[static_cast<std::size_t>(id)];
    made.name += ".int8";
    const auto other = static_cast<TensorId>(graph.tensors.size());
    for (Node& node : graph.nodes) {
      replace(node.inputs, id, other);
      replace(node.outputs, id, other);
    }
    graph.tensors.push_back(std::move(made));
    return other;
  };
  const auto requantize = [&](TensorId from, TensorId to, std::vector<Node>& list) {
    Node node;
    node.name = graph.tensors[static_cast<std::size_t>(std::min(from, to))].name;
    node.code = OpCode::requantize;
    node.arithmetic = Arithmetic::tflite;
    node.rounding = kernels::Rounding::tflite_double;
    node.inputs = {from};
    node.outputs = {to};
    list.push_back(std::move(node));
  };
  std::vector<bool> stays(count, false);
  for (const TensorId id : graph.inputs) {
    stays[static_cast<std::size_t>(id)] = true;
    if (shifted(graph.tensors[static_cast<std::size_t>(id)])) requantize(id, twin(id), before);
  }
  for (const TensorId id : graph.outputs) {
    if (stays[static_cast<std::size_t>(id)]) continue;
    stays[static_cast<std::size_t>(id)] = true;
    if (shifted(graph.tensors[static_cast<std::size_t>(id)])) requantize(twin(id), id, after);
  }
  for (Node& node : graph.nodes) {
    auto* const pad = std::get_if<PadOptions>(&node.options);
    if (pad != nullptr && shifted(graph.tensors[static_cast<std::size_t>(node.outputs[0])]))
      pad->value -= kShift;
  }
  stays.resize(graph.tensors.size(), false);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    Tensor& tensor = graph.tensors[i];
    if (stays[i] || !shifted(tensor)) continue;
    tensor.dtype = DType::int8;
    tensor.zero_points[0] -= kShift;
    if (!tensor.data) continue;
    for (std::byte& value : *tensor.data) value ^= std::byte{0x80};
  }
  graph.nodes.insert(graph.nodes.begin(), before.begin(), before.end());
  graph.nodes.insert(graph.nodes.end(), after.begin(), after.end());
}

Status to_integers(Graph& graph, const Grids& grids) {
  const auto quantized = [](const Node& node) {
    return node.code == OpCode::quantize || node.code == OpCode::dequantize;
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), quantized)) return {};
  to_signed(graph);
  move_integers(graph);
  RUNNEL_TRY(compute_on_integers(graph, grids));
  drop_unread(graph);
  mark_non_negative(graph);
  return {};
}

}  // namespace runnel::compiler
