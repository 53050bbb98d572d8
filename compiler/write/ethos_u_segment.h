// A segment for an Ethos-U in a compiled graph, as files of other tools store it: command stream, constants,
// and places of inputs and outputs in one scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Views into the graph.
struct EthosUSegment {
  std::span<const std::byte> commands, weights;      // weights: empty when there are none
  std::size_t scratch = 0, fast_scratch = 0;         // bytes
  std::span<const TensorId> inputs, outputs;         // of the network
  std::vector<std::size_t> in_offsets, out_offsets;  // bytes from the beginning of the scratch memory
  std::string target, memory_mode, system;           // names
};

bool is_ethos_u(const Node& node);
// Errors: unsupported for a node that another back end computes, or whose inputs or outputs are regions of
// their own (compiler::ethos_u::Options::borders_in_scratch).
Result<EthosUSegment> read_segment(const Graph& graph, const Node& node);

}  // namespace runnel::compiler
