// Gives each `record` of a graph the sound that it keeps.
#pragma once

#include "pipeline/host/graph.h"

namespace runnel::pipeline {

// Connects it to the nearest `history` that its events come from. Error: invalid_argument when there is none.
Status connect_recorders(const Graph& graph);

}  // namespace runnel::pipeline
