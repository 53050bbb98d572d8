// A graph whose outputs are other tensors of it.
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace runnel::compiler::quantizer {

// The graph with these tensors as outputs, in this order, and only the nodes that they need. Inputs of the
// graph may be among them.
Graph extract_subgraph(const Graph& graph, std::span<const TensorId> outputs);

}  // namespace runnel::compiler::quantizer
