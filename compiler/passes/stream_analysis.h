// How the tensors of a graph follow time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "inference/operator.h"
#include "inference/plan/stream_plan.h"

namespace runnel::compiler {

// The plan of a model, as far as it goes: after an operator that prevents streaming, time is taken to go on
// as if it worked frame by frame.
struct StreamAnalysis {
  std::vector<StreamTensor> tensors;  // per tensor of the model
  std::vector<StreamStep> steps;      // per operator
  std::int64_t block_multiple = 1;
  // Why not, one line per operator that prevents it, and which it is (-1: none in particular). Empty: the
  // model can be streamed.
  std::vector<std::string> refusals;
  std::vector<int> refused;
};

// Every operator's own checks, those that are missing all at once.
Status check_operators(const Model& model, OperatorTable table);

// `axes`: of the inputs; the operators must have been checked. Errors: other than that the model cannot be
// streamed.
Result<StreamAnalysis> analyse_streams(const Model& model, OperatorTable table,
                                       std::span<const std::int8_t> axes);

// Time axes of the inputs: those given (one per input, -1: no stream), else axis 1 after a batch of one,
// else axis 0. Streams share one clock: an input shorter than the longest one is no stream. Errors:
// invalid_argument.
Result<std::vector<std::int8_t>> input_time_axes(const Model& model, std::span<const int> given);

}  // namespace runnel::compiler
