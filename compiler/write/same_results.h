// Whether two graphs compute the same bytes: for a file of another tool's format, which is read back before
// it is given to anybody.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "inference/operator_table.h"

namespace runnel::compiler {

// Runs both on `calls` random inputs (bytes; floats from -4 to 4) as whole clips. Errors: mismatch naming the
// output, the byte and the call; those of preparing and running.
Status check_same_results(const Graph& written, const Graph& read, int calls, std::uint32_t seed,
                          OperatorTable operators);

}  // namespace runnel::compiler
