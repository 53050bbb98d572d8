// Frames before channels at the borders of a network.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Files have inputs and outputs channels first ([1, C, T]) where the network computes frames first ([1, T,
// C]). An input that nothing but one transposition reads takes its data as that gives it, and an output that
// the inverse transposition makes is given as it was computed, so that a stream moves no data at its ends.
// Time axes and self-test vectors follow; values stay the same. States and inputs without a time axis are
// left alone. Gives the names of the inputs and outputs that changed.
std::vector<std::string> put_frames_first(Graph& graph);

}  // namespace runnel::compiler
