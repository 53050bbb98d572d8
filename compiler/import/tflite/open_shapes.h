// Inputs with axes that the file leaves open.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/tflite/source.h"
#include "compiler/ir/input_shapes.h"

namespace runnel::compiler::tflite_source {

// Gives sizes to the graph's inputs: the requested ones, those of the given data, 1 for a batch (axis 0 of
// several), and `length` for the rest of what the file leaves open with a size of 1, which a note tells.
// Returns whether `length` was used. Errors: mismatch for shapes that contradict the file; not_found for
// names that are no inputs.
Result<bool> settle_shapes(Subgraph& graph, const InputShapes& shapes, std::int64_t length,
                           std::vector<std::string>& notes);

}  // namespace runnel::compiler::tflite_source
