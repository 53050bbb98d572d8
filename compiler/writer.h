// From a graph to the bytes of a .rnl file.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "compiler/graph.h"
#include "inference/operator.h"

namespace runnel::compiler {

struct WriteOptions {
  bool strip_names = false;
  // Block sizes whose exact memory needs are recorded in the arenas section (target "generic").
  std::vector<int> blocks = {1};
  // Time axes of the graph's inputs, for the streaming plan; empty: those of the graph, else chosen by write_model (axis 1 behind a
  // batch of one).
  std::vector<int> time_axes;
  // Every operator of the graph must be in it: those of an application, too.
  OperatorTable operators = all_operators();
};

struct WrittenModel {
  std::vector<std::byte> bytes;
  // Empty when the model can be streamed; otherwise why not, one line per operator that prevents it.
  std::vector<std::string> refusals;
};

// Serializes, verifies what it wrote with the reader (Model::open and every operator's checks), plans the streaming form and
// adds the plan when there is one. The result is deterministic. Errors: those of the reader, naming tensors and operators.
Result<WrittenModel> write_model(const Graph& graph, const WriteOptions& options = {});

// Whether the graph can be streamed: written without refusals.
bool can_stream(const Graph& graph, OperatorTable operators);

}  // namespace runnel::compiler
