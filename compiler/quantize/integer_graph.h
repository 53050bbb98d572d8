// The integer graph of a plan.
#pragma once

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/plan.h"

namespace runnel::compiler::quantizer {

// The operators that the importer of .espdl files makes (pow2), or those of TensorFlow Lite's arithmetic
// (affine). Tensors of the float graph keep their numbers, new ones come after; changes of scale and type
// are put in where two operators do not agree. Errors: unsupported naming operators whose scales cannot be
// represented.
Result<Graph> emit_integer_graph(const Graph& graph, const Plan& plan);

}  // namespace runnel::compiler::quantizer
