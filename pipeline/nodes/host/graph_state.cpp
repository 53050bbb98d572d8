#include "pipeline/nodes/host/graph_state.h"

#include "pipeline/nodes/host/states.h"

namespace runnel::pipeline {

const NodeState* state_of(const NodeType& type, std::span<const NodeState> own) noexcept {
  for (const std::span<const NodeState> rows : {own, host_node_states(), device_node_states()}) {
    for (const NodeState& row : rows)
      if (row.type == &type) return &row;
  }
  return nullptr;
}

Status check_saveable(const Graph& graph, std::span<const NodeState> own) {
  for (int i = 0; i < graph.size(); ++i) {
    const NodeState* const row = state_of(*graph.stage(i).type, own);
    if (row != nullptr && row->run != nullptr) continue;
    return Status(Code::unsupported) << "nodes of this program cannot be saved: " << graph.stage(i).label
                                     << ' ' << (row == nullptr ? "has no saved form" : row->obstacle);
  }
  return {};
}

void graph_state(Graph& graph, std::span<const NodeState> own, StateArchive& archive) noexcept {
  graph.executor().state(archive);
  for (int i = 0; i < graph.size() && archive.ok(); ++i) {
    const Stage& stage = graph.stage(i);
    state_of(*stage.type, own)->run(*stage.node, archive);
    if (!archive.ok()) archive.at(stage.label);
  }
}

}  // namespace runnel::pipeline
