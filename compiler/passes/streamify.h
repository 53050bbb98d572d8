// The pass that makes a graph ready to be streamed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/stream_options.h"
#include "inference/operator.h"

namespace runnel::compiler {

struct Streamified {
  std::optional<Graph> graph;      // absent: as it is
  std::vector<std::string> notes;  // what was done, one sentence each
};

// Applies the options (windows instead of all time), then what a plan without refusals needs
// (time as the first axis). Rewrites that do not lead to a plan are dropped. `time_axes`: of the inputs, or
// empty. Errors: invalid_argument for windows that cannot be; those of the reader.
Result<Streamified> streamify(const Graph& graph, const StreamOptions& options,
                              const std::vector<int>& time_axes, OperatorTable operators);

// The part of it that gives attention its windows, those of the options or of masks in the file, for a graph
// that is rewritten further before it is written; the window is not to be asked for again then. Returns a
// note for each. Errors: as streamify().
Result<std::vector<std::string>> give_windows(Graph& graph, const StreamOptions& options,
                                              const std::vector<int>& time_axes, OperatorTable operators);

// Which axis of an input is taken for time and why, as the start of a sentence: what comes after it may be
// wrong because of that. Empty where an option says it, or where there is no other. `input_axes`: per input,
// -1: no stream.
std::string time_axis_note(const Graph& graph, const StreamOptions& options,
                           std::span<const std::int8_t> input_axes);

// The time axes of the inputs, from the option, from `given`, or from the graph, in this order; empty: to be
// found out.
std::vector<int> chosen_time_axes(const Graph& graph, const StreamOptions& options,
                                  const std::vector<int>& given);

}  // namespace runnel::compiler
