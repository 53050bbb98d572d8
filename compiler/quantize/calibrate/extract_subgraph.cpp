#include "compiler/quantize/calibrate/extract_subgraph.h"

#include <algorithm>

namespace runnel::compiler::quantizer {

Graph extract_subgraph(const Graph& graph, std::span<const TensorId> outputs) {
  Graph out = graph;
  out.vectors.clear();
  out.pipeline.states.clear();
  out.outputs.clear();
  for (const TensorId id : outputs) {
    const bool computed = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
      return std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end();
    });
    if (computed) {
      out.outputs.push_back(id);
      continue;
    }
    // What comes in goes out as a copy.
    Tensor copy = graph.tensors[static_cast<std::size_t>(id)];
    copy.name += ".copy";
    copy.data.reset();
    Node pass;
    pass.name = copy.name;
    pass.code = OpCode::reshape;
    pass.inputs = {id};
    pass.outputs = {static_cast<TensorId>(out.tensors.size())};
    out.outputs.push_back(pass.outputs[0]);
    out.tensors.push_back(std::move(copy));
    out.nodes.push_back(std::move(pass));
  }
  std::vector<bool> needed(out.tensors.size(), false);
  for (const TensorId id : out.outputs) needed[static_cast<std::size_t>(id)] = true;
  std::vector<Node> kept;
  for (auto node = out.nodes.rbegin(); node != out.nodes.rend(); ++node) {
    const bool reads = node->code == OpCode::assign_variable ||
                       std::any_of(node->outputs.begin(), node->outputs.end(), [&](TensorId id) {
                         return id >= 0 && needed[static_cast<std::size_t>(id)];
                       });
    if (!reads) continue;
    for (const TensorId id : node->inputs) {
      if (id >= 0) needed[static_cast<std::size_t>(id)] = true;
    }
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  out.nodes = std::move(kept);
  return out;
}

}  // namespace runnel::compiler::quantizer
