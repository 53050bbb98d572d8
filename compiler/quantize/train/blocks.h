// Parts of a graph that are trained by themselves.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/quantize/plan.h"

namespace runnel::compiler::quantizer {

// Nodes [first, end) that see nothing of the graph before them but one tensor.
struct Block {
  std::size_t first = 0, end = 0;
  TensorId input = kAbsent;
  std::vector<TensorId> outputs;  // what is read after the block, and outputs of the graph
};

// The blocks of a graph, in its order: cut where a single tensor passes, so that a sum is in one block with
// the layers whose result it adds, and joined until each has at least `layers` layers with weights. Operators
// that cannot be trained (BlockNet::supports), that stay float or have another type than those before
// them are between blocks.
std::vector<Block> blocks_of(const Graph& graph, const Plan& plan, int layers);

}  // namespace runnel::compiler::quantizer
