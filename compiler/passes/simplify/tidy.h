// What rewriting leaves behind.
#pragma once

#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Leaves out nodes whose results nobody reads, but for those that act on more than their results.
void drop_unread(Graph& graph);

// Transpositions that undo one another are left out, and what nobody reads then.
void cancel_transpositions(Graph& graph);

// Floats that follow from constants alone become constants, computed by the runtime's own operators.
void fold_constants(Graph& graph);

// In float graphs, quotients by a constant number become products with its inverse: the last bits of floats
// change.
void multiply_by_inverses(Graph& graph);

}  // namespace runnel::compiler
