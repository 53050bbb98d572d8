// Small steps that a weighted operator takes over.
#pragma once

#include "compiler/ir/graph.h"

namespace runnel::compiler {

// In float graphs: factors and summands per channel after a convolution or fully connected layer become its
// weights and bias (which is how batch normalization disappears), ReLU becomes an activation, and what
// nothing reads is left out; swoosh that the file spells out is one operator (fuse_swoosh.h). Shapes must be
// known. Only results without another reader are fused.
void fuse(Graph& graph);

}  // namespace runnel::compiler
