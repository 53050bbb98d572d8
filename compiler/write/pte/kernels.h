// Operators of the CPU as kernels of ExecuTorch: the other direction of import/pte/convert.
#pragma once

#include "base/status.h"
#include "compiler/write/pte/draft.h"

namespace runnel::compiler::pte_source {

// Appends the calls that compute what the node computes. Errors: unsupported naming the node.
Status add_kernel(Draft& draft, const Graph& graph, const Node& node);

}  // namespace runnel::compiler::pte_source
