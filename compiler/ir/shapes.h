// Shapes of a graph's tensors, computed from those of its inputs and constants.
#pragma once

#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Sets the shapes of the outputs of one node from those of its inputs. Where the options leave a choice
// (reshape, slice, split) the output's shape is what the caller put there and is checked. Errors:
// invalid_data naming the node, what was expected and what was found. Operand counts, axes and sizes are
// checked here, so that passes may rely on them; types are not.
Status infer_node_shapes(Graph& graph, const Node& node);

// All nodes, in order.
Status infer_shapes(Graph& graph);

// Frames of a window: floor((length + before + after - extent) / stride) + 1; 0 when the window does not fit.
// extent and stride > 0.
std::int64_t window_length(std::int64_t length, std::int64_t extent, std::int64_t stride, std::int64_t before,
                           std::int64_t after);

}  // namespace runnel::compiler
