// The test values of .espdl files: one tensor per input and output. Files for streaming hold several calls,
// one after another: those of call 0 under the names of the values, those of call K under NAME#K, with a
// doc_string "call K, frames along axis A".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/espdl/source.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::espdl_source {

// Inputs of `calls` calls in the graph's order: from its first vector, cut along time where it is long
// enough, or seeded random values. `time_axes`: of the inputs, -1: not cut; empty: none is.
std::vector<std::vector<std::vector<std::byte>>> test_inputs(const Graph& graph,
                                                             const std::vector<VectorCase>& recorded,
                                                             int calls, const std::vector<int>& time_axes,
                                                             std::uint32_t seed);

// Names and doc_strings of call `call` (above).
void label_call(Constant& value, int call, int axis);
// The calls of a value joined along their frames; tensors that are no calls stay as they are. Nothing when
// calls are missing or do not fit together.
std::optional<std::vector<Constant>> joined_calls(const std::vector<Constant>& values);
// Without the calls after the first one.
std::optional<std::vector<Constant>> first_calls(const std::vector<Constant>& values);

}  // namespace runnel::compiler::espdl_source
