// Which tensors can only hold values >= 0: kernels use it (unsigned by signed products).
#pragma once

#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Sets Tensor::non_negative of the outputs of one node, and of its constant inputs, from what the inputs are
// known to be. Never clears it. Constants and outputs with zero points other than 0 are left alone.
void mark_non_negative(Graph& graph, const Node& node);

// All nodes, in order.
void mark_non_negative(Graph& graph);

}  // namespace runnel::compiler
