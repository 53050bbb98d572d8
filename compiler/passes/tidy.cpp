#include "compiler/passes/tidy.h"

#include <algorithm>
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
    if (!acts && std::none_of(node->outputs.begin(), node->outputs.end(), [&](TensorId id) {
          return id >= 0 && read[static_cast<std::size_t>(id)];
        }))
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

}  // namespace runnel::compiler
