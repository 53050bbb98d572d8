// How the nodes of a whole graph are saved and restored.
#pragma once

#include <span>

#include "base/state_archive.h"
#include "base/status.h"
#include "pipeline/host/graph.h"
#include "pipeline/nodes/states.h"

namespace runnel::pipeline {

// The row of a type: one of `own`, of host nodes or of device nodes. `own`: rows of the program's own nodes.
// Null: it has none.
const NodeState* state_of(const NodeType& type, std::span<const NodeState> own) noexcept;

// Whether a graph can be saved. Error: unsupported, with the first node that cannot.
Status check_saveable(const Graph& graph, std::span<const NodeState> own);

// The executor and all nodes of a graph that can be saved. Between two steps only.
void graph_state(Graph& graph, std::span<const NodeState> own, StateArchive& archive) noexcept;

}  // namespace runnel::pipeline
