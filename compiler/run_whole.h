// A graph run once while compiling: for tables of values, and for comparing two forms of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "inference/operator_table.h"

namespace runnel::compiler {

// Outputs in the graph's order for each entry of `calls` (inputs in the graph's order), one call after the
// other: state is kept from call to call. `frames`: of the inputs along time, for graphs that can be
// streamed; 0: as the graph says. Without `plan`, the graph is taken as it is, and is no stream. `operators`:
// what it runs on.
// Errors: those of the writer and of preparing; mismatch for an input of another size.
using Buffers = std::vector<std::vector<std::byte>>;
Result<std::vector<Buffers>> run_whole(const Graph& graph, const std::vector<Buffers>& calls,
                                       std::int64_t frames = 0, bool plan = true,
                                       OperatorTable operators = all_operators());

}  // namespace runnel::compiler
