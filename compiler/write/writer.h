// From a graph to the bytes of a .rnl file.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/numbering.h"
#include "compiler/passes/stream_options.h"
#include "inference/operator.h"

namespace runnel::compiler {

struct WriteOptions {
  bool strip_names = false;
  // Block sizes whose exact memory needs are recorded in the arenas section (target "generic").
  std::vector<int> blocks = {1};
  // Time axes of the graph's inputs, for the streaming plan; empty: those of the graph, else chosen by
  // write_model (axis 1 after a batch of one).
  std::vector<int> time_axes;
  // How it is to be streamed.
  StreamOptions stream;
  // Every operator of the graph must be in it: those of an application, too.
  OperatorTable operators = all_operators();
  // false: no streaming form, even where there could be one: what was written without stays so.
  bool plan = true;
};

struct WrittenModel {
  std::vector<std::byte> bytes;
  // Empty when the model can be streamed; otherwise why not, one line per operator that prevents it.
  std::vector<std::string> refusals;
  // What was done to the graph so that it can be streamed, one sentence each.
  std::vector<std::string> notes;
};

// Serializes, verifies what it wrote with the reader (Model::open and every operator's checks), plans the
// streaming form and adds the plan when there is one. The result is deterministic. Errors: those of the
// reader, naming tensors and operators; unsupported with all reasons for a model that was to be streamed and
// cannot be; invalid_argument for streaming options that cannot be kept.
Result<WrittenModel> write_model(const Graph& graph, const WriteOptions& options = {});

// A model file of the graph alone, for passes that need to know what the reader makes of it.
Result<std::vector<std::byte>> graph_bytes(const Graph& graph, const Numbering& numbering);
// Whether the graph can be streamed: written without refusals.
bool can_stream(const Graph& graph, OperatorTable operators);

}  // namespace runnel::compiler
