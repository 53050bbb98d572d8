// Operators of the CPU as builtin operators of TensorFlow Lite: the other direction of import/tflite/convert.
#pragma once

#include "base/status.h"
#include "compiler/write/tflite/draft.h"

namespace runnel::compiler::tflite_source {

// Appends the operators that compute what the node computes. Errors: unsupported naming the node, for
// arithmetic or options that TensorFlow Lite does not have.
Status add_builtin(Draft& draft, const Graph& graph, const Node& node);
// A copy of a tensor.
void add_copy(Draft& draft, std::int32_t from, std::int32_t to);

}  // namespace runnel::compiler::tflite_source
