// How a model is to be used (inference/model/usage.h), as someone who imports it says it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/write/writer.h"

namespace runnel::compiler {

// What is not given stays as the importer found it.
struct UsageOptions {
  std::string usage;  // stream, step, window, whole; empty: what the others mean
  std::optional<int> window, hop, step, context, look_ahead, output_frames;  // frames
  std::vector<std::pair<std::string, std::string>>
      states;  // names of an output and of the input that takes it

  [[nodiscard]] bool given() const {
    return !usage.empty() || window || hop || step || context || look_ahead || output_frames ||
           !states.empty();
  }
};

// Sets the usage of the graph. Errors: invalid_argument for settings that contradict each other or the model,
// not_found for names that it does not have.
Status apply_usage(const UsageOptions& options, Graph& graph);

// write_model for a graph that need not be a stream: one that cannot be streamed becomes a model for whole
// clips, unless its usage is another one; only then there are refusals, for the caller to tell. What the file
// says about its usage fits the model.
Result<WrittenModel> write_for_use(Graph& graph, const WriteOptions& options);

}  // namespace runnel::compiler
