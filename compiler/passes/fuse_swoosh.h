// An activation that files spell out.
#pragma once

#include "compiler/ir/graph.h"

namespace runnel::compiler {

// In float graphs: log(1 + exp(x - a)) - b x - c, with scalars a, b and c, becomes one `swoosh`. The
// logarithm of the sum is written as log(exp(t) + 1), also with the comparison that takes t where it is
// infinite, or as max(0, t) + log(1 + exp(-|t|)), as icefall exports it. What only these operators read is
// left out.
void fuse_swoosh(Graph& graph);

}  // namespace runnel::compiler
