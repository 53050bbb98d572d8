// Small graphs of one operator each over a stream of frames, for tests that every operator must pass.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "inference/operator.h"

namespace runnel::test {

struct OperatorCase {
  std::string name;       // "add tflite int8"
  compiler::Graph graph;  // input 0 is a stream [1, kCaseFrames, channels], unless `steps`
  // Keeps state from call to call instead of following time: it is run in calls of a fixed length.
  bool steps = false;
};
inline constexpr int kCaseFrames = 24;

// One for each type that the operator's row names (inference/host/operators/). An operator of a known family
// needs nothing here; another one gets a line in operator_cases.cpp. Empty when there is no case for it.
std::vector<OperatorCase> operator_cases(const OperatorDefinition& definition);

}  // namespace runnel::test
