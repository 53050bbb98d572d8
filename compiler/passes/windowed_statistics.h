// Statistics over all time become statistics over windows of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/stream_options.h"

namespace runnel::compiler {

struct WindowedGraph {
  std::vector<std::string> notes;  // one sentence for each node that was rewritten
  bool same_clip = true;           // the graph still gives for one clip what it gave before
};

// Global pools, pools over the whole clip, reductions over time and dense layers over the flattened clip take
// the frames of a clip as the graph has it now, every `hop` frames: from the second clip on the same numbers
// come out as for that clip alone, if no operator before pads time. A statistic that is joined with its own
// stream (a normalisation) gets the window that ends at each frame, shorter at the start; `so_far` makes it
// all frames so far. The shapes of `graph` must be those of one clip. `time_axes`: per tensor, -1: no stream.
WindowedGraph window_statistics(Graph& graph, const std::vector<int>& time_axes, int hop, bool so_far);

// Pairs of products of matrices with a softmax in between, over all time, become attention over a window:
// that of a constant mask between the two, that asked for, or what both let through. What else is added to
// the scores must depend on the distance of key and query alone, in the clip that the graph has, and becomes
// a table; a product with a constant table over positions and its relative shift (Transformer-XL's) becomes a
// product with one row per distance. Without a window asked for, attention without such a mask stays. Errors:
// with a window, unsupported for the first attention that takes none, naming the operator in its way.
Result<WindowedGraph> window_attention(Graph& graph, const std::vector<int>& time_axes,
                                       const std::optional<AttentionWindow>& window);

}  // namespace runnel::compiler
