// Connects each `record` of a graph to the sound that it writes.
#pragma once

#include "pipeline/host/graph.h"

namespace runnel::pipeline {

// Connects it to the nearest `history` before it. Error: invalid_argument when there is none.
Status connect_recorders(const Graph& graph);

}  // namespace runnel::pipeline
