// Integer graphs of many plans for one float graph.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/plan.h"

namespace runnel::compiler::quantizer {

// Plans that differ in a few ranges share most of their rounded weights: those are kept. The graph must stay.
class IntegerForms {
 public:
  explicit IntegerForms(const Graph& graph) : graph_(graph) {}
  // The graph of emit_integer_graph(), with its errors. All plans have one target and scheme.
  Result<Graph> of(const Plan& plan);

 private:
  const Graph& graph_;
  std::map<int, std::pair<Grid, std::shared_ptr<const Layer>>>
      nearest_;  // per node: the last grid of its input, and its weights
};

}  // namespace runnel::compiler::quantizer
