// Functions of one int8 value that stand between two scales, as tables.
#pragma once

#include <optional>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Float operators without side: each element of the result depends on the element of one tensor, and on
// scalars.
struct Pointwise {
  TensorId x = kAbsent;            // what it starts from: the float result of a dequantize
  std::vector<std::size_t> nodes;  // in execution order
};
// What computes `y` element by element from one dequantized tensor; nothing when there is no such piece of
// the graph. `makers`: per tensor the node that computes it, or -1. A dequantize alone is a piece of no
// nodes.
std::optional<Pointwise> find_pointwise(const Graph& graph, const std::vector<int>& makers, TensorId y);

// The int8 results for -128, ..., 127, computed by the runtime's float operators: dequantize, the piece,
// quantize. `from` and `to` are the int8 tensors around it, with scales. Errors: those of running it.
Result<std::vector<std::byte>> table_of(const Graph& graph, const Pointwise& piece, TensorId from,
                                        TensorId to, TensorId y);

}  // namespace runnel::compiler
