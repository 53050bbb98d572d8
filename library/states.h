// How the nodes of a program are saved and restored.
#pragma once

#include "base/state_archive.h"
#include "base/status.h"
#include "pipeline/host/graph.h"
#include "pipeline/nodes/states.h"

namespace runnel::library {

// The row of a type; null: it has none, which a test prevents for those of library_nodes().
const pipeline::NodeState* state_of(const pipeline::NodeType& type) noexcept;

// Whether a graph can be saved. Error: unsupported, with the first node that cannot.
Status check_saveable(const pipeline::Graph& graph);

// The executor and all nodes of a graph that can be saved. Between two steps only.
void graph_state(pipeline::Graph& graph, StateArchive& archive) noexcept;

}  // namespace runnel::library
