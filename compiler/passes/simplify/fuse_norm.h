// Layer normalization and swish that files spell out.
#pragma once

#include "compiler/ir/graph.h"

namespace runnel::compiler {

// In float graphs, for what computes them in one operator: (x - mean) / sqrt(mean of squares + epsilon) over
// the last axis, with the factors and offsets that follow, becomes `layer_norm`; x times its sigmoid becomes
// `swish`. The order of operations changes, and the last bits of floats with it. What only these operators
// read is left out.
void fuse_normalizations(Graph& graph);

}  // namespace runnel::compiler
