#include "library/states.h"

#include "library/nodes.h"
#include "pipeline/nodes/host/states.h"

namespace runnel::library {

using pipeline::NodeState;

namespace {

constexpr NodeState kOwnStates[] = {
    pipeline::saved_node<PushedSamples>(),
    pipeline::stateless_node<DecisionSink>(),  // what waits is in the outbox
    pipeline::stateless_node<FrameSink>(),
    pipeline::saved_node<SharedModelInfer>(),
};

}  // namespace

const NodeState* state_of(const pipeline::NodeType& type) noexcept {
  for (const std::span<const NodeState> rows :
       {std::span<const NodeState>(kOwnStates), pipeline::host_node_states(),
        pipeline::device_node_states()}) {
    for (const NodeState& row : rows)
      if (row.type == &type) return &row;
  }
  return nullptr;
}

Status check_saveable(const pipeline::Graph& graph) {
  for (int i = 0; i < graph.size(); ++i) {
    const NodeState* const row = state_of(*graph.stage(i).type);
    if (row != nullptr && row->run != nullptr) continue;
    return Status(Code::unsupported) << "nodes of this program cannot be saved: " << graph.stage(i).label
                                     << ' ' << (row == nullptr ? "has no saved form" : row->obstacle);
  }
  return {};
}

void graph_state(pipeline::Graph& graph, StateArchive& archive) noexcept {
  graph.executor().state(archive);
  for (int i = 0; i < graph.size() && archive.ok(); ++i) {
    const pipeline::Stage& stage = graph.stage(i);
    state_of(*stage.type)->run(*stage.node, archive);
    if (!archive.ok()) archive.at(stage.label);
  }
}

}  // namespace runnel::library
