// From a model file back to the graph that passes and other writers work on.
#pragma once

#include "compiler/ir/graph.h"
#include "inference/model/model.h"

namespace runnel::compiler {

// The offline graph of `model` with its constants, names (stripped ones are "t<index>" and
// "<operator><index>"), test vectors, settings and metadata. The streaming plan follows from the graph and is
// no part of it; the time axes of the inputs are. The model has been verified.
Graph graph_of(const Model& model);

}  // namespace runnel::compiler
