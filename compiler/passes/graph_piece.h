// Values of a tensor inside a graph, computed while compiling.
#pragma once

#include <map>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Per tensor the node that computes it, or -1.
std::vector<int> makers_of(const Graph& graph);

// float32 values of `target`, by the runtime's own operators, from constants and from `given`, which replaces
// what computes these tensors. Errors: unsupported when it depends on an input of the graph, or on nothing
// that is float32; those of running it.
Result<std::vector<float>> values_inside(const Graph& graph, const std::vector<int>& makers, TensorId target,
                                         const std::map<TensorId, std::vector<float>>& given = {});

}  // namespace runnel::compiler
