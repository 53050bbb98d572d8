// How the nodes that only hosts have are saved and restored.
#pragma once

#include <span>

#include "pipeline/nodes/states.h"

namespace runnel::pipeline {

// A row for every node of host_nodes() with an input and an output that is no device node, under its own type
// where a host has another class for a device node.
std::span<const NodeState> host_node_states() noexcept;

}  // namespace runnel::pipeline
