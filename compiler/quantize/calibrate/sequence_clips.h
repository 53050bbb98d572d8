// Clips for models that take their state as an input: each step gets the state that the float model left in
// the one before.
#pragma once

#include <memory>

#include "compiler/quantize/calibrate/clips.h"

namespace runnel::compiler::quantizer {

// `steps`: clips of the inputs without state, in the order of the graph, which follow one another in time.
// graph.pipeline.states says which outputs go to which inputs; state begins with zeros, and again at every
// clip of which `begins` is true (none: only at the first). Runs the float model once over all steps and
// keeps the states: errors are those of running it, and unsupported for more than 512 MiB of them.
Result<std::unique_ptr<Clips>> sequence_clips(const Graph& graph, std::unique_ptr<Clips> steps,
                                              const std::vector<bool>& begins = {});

}  // namespace runnel::compiler::quantizer
