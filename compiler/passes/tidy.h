// What rewriting leaves behind.
#pragma once

#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Leaves out nodes whose results nobody reads, but for those that act on more than their results.
void drop_unread(Graph& graph);

// Transpositions that undo one another are left out, and what nobody reads then.
void cancel_transpositions(Graph& graph);

}  // namespace runnel::compiler
