// Front ends that travel with a model.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/graph.h"

namespace runnel::apps {

// Puts a front end into the graph's settings: checked, with all its parameters, and for sound of `sample_rate` (0: what it wants).
// Errors: those of resolve_front_end; mismatch when its frames do not have the size of the model's first input.
Status store_front_end(const std::string& text, int sample_rate, compiler::Graph& graph);

}  // namespace runnel::apps
