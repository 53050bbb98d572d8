#include "compiler/passes/simplify/tidy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "compiler/passes/graph_piece.h"

namespace runnel::compiler {

void drop_unread(Graph& graph) {
  std::vector<bool> read(graph.tensors.size(), false);
  const auto mark = [&](TensorId id) {
    if (id >= 0) read[static_cast<std::size_t>(id)] = true;
  };
  std::for_each(graph.outputs.begin(), graph.outputs.end(), mark);
  for (const auto& state : graph.pipeline.states) {
    mark(state.first);
    mark(state.second);
  }
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    // What a session keeps is read in the next call.
    const bool acts = node->code == OpCode::assign_variable || node->code == OpCode::custom ||
                      node->code == OpCode::delegate;
    if (!acts && std::none_of(node->outputs.begin(), node->outputs.end(),
                              [&](TensorId id) { return id >= 0 && read[static_cast<std::size_t>(id)]; }))
      continue;
    std::for_each(node->inputs.begin(), node->inputs.end(), mark);
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
}

void cancel_transpositions(Graph& graph) {
  const std::vector<int> makers = makers_of(graph);
  const auto transposition = [&](TensorId id) -> const Node* {
    const int maker = id < 0 ? -1 : makers[static_cast<std::size_t>(id)];
    if (maker < 0 || graph.nodes[static_cast<std::size_t>(maker)].code != OpCode::transpose) return nullptr;
    return &graph.nodes[static_cast<std::size_t>(maker)];
  };
  const auto source = [&](TensorId id) {
    const Node* const outer = transposition(id);
    const Node* const inner = outer == nullptr ? nullptr : transposition(outer->inputs[0]);
    if (inner == nullptr) return id;
    const auto &second = std::get<TransposeOptions>(outer->options).perm,
               &first = std::get<TransposeOptions>(inner->options).perm;
    for (std::size_t i = 0; i < second.size(); ++i) {
      if (first[second[i]] != i) return id;
    }
    const Tensor &from = graph.tensors[static_cast<std::size_t>(inner->inputs[0])],
                 &to = graph.tensors[static_cast<std::size_t>(id)];
    const bool same = from.dtype == to.dtype && from.exponents == to.exponents && from.scales == to.scales &&
                      from.zero_points == to.zero_points;
    return same ? inner->inputs[0] : id;
  };
  for (Node& node : graph.nodes) {
    for (TensorId& id : node.inputs) id = source(id);
  }
  drop_unread(graph);
}

void fold_constants(Graph& graph) {
  const std::vector<int> makers = makers_of(graph);
  std::vector<bool> gone(graph.nodes.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const auto constant = [&](TensorId id) {
      return id < 0 || graph.tensors[static_cast<std::size_t>(id)].data.has_value();
    };
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [](TensorId id) { return id >= 0; });
    if (!any || node.outputs.size() != 1 || !std::all_of(node.inputs.begin(), node.inputs.end(), constant) ||
        node.code == OpCode::assign_variable || node.code == OpCode::custom || node.code == OpCode::delegate)
      continue;
    const TensorId y = node.outputs[0];
    if (graph.tensors[static_cast<std::size_t>(y)].dtype != DType::float32 ||
        std::find(graph.outputs.begin(), graph.outputs.end(), y) != graph.outputs.end())
      continue;
    const auto values = values_inside(graph, makers, y);
    if (!values.ok()) continue;
    auto& data = graph.tensors[static_cast<std::size_t>(y)].data.emplace(values->size() * sizeof(float));
    std::memcpy(data.data(), values->data(), data.size());
    gone[n] = true;
  }
  std::size_t n = 0;
  std::erase_if(graph.nodes, [&](const Node&) { return gone[n++]; });
}

void multiply_by_inverses(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (node.code != OpCode::div || node.arithmetic != Arithmetic::espdl) continue;
    const Tensor divisor = graph.tensors[static_cast<std::size_t>(node.inputs[1])];
    if (!divisor.data || divisor.dtype != DType::float32 || divisor.data->size() != sizeof(float)) continue;
    float value = 0;
    std::memcpy(&value, divisor.data->data(), sizeof value);
    value = 1 / value;
    if (!std::isnormal(value)) continue;
    Tensor inverse = divisor;
    std::memcpy(inverse.data->data(), &value, sizeof value);
    node.code = OpCode::mul;
    node.inputs[1] = static_cast<TensorId>(graph.tensors.size());
    graph.tensors.push_back(std::move(inverse));
  }
}

}  // namespace runnel::compiler
