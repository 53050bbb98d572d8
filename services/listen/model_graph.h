// The graph around a model: its front end and its decision, from its file or given.
#pragma once

#include <cstdint>
#include <string>

#include "inference/model/model.h"

namespace runnel::listen {

// What a graph is made of.
struct ModelGraph {
  std::string model;                // path, as the graph names it
  std::string front_end, decision;  // graph text; empty: as stored in the model
  std::int64_t chunk = 0;           // frames per run of a streamed model; 0: the smallest possible
};

struct GraphParts {
  std::string front_end, decision;
  bool logits = true;  // whether the model's outputs are logits, not posteriors, as far as the decision tells
};

// Front end and decision of `graph` for `model`. `frames_only`: no decision is needed. Errors:
// invalid_argument for a model without a front end or a decision when none is given.
Result<GraphParts> graph_parts(const ModelGraph& graph, const Model& model, bool frames_only = false);

// "FRONT END ! infer model=... ! DECISION". Errors: as above.
Result<std::string> graph_around(const ModelGraph& graph, const Model& model);

}  // namespace runnel::listen
