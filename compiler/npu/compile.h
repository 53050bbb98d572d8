// Compiles what an Ethos-U can compute of a model: a graph with delegate segments, and a report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/npu/options.h"

namespace runnel::compiler::ethos_u {

struct NodeReport {
  std::string name, type, reason;  // why it stays on the CPU; empty: it does not
  int segment = -1;
  std::int64_t multiply_adds = 0;
};
struct SegmentReport {
  std::size_t operations = 0, constants = 0, scratch = 0,
              fast_scratch = 0;  // bytes but for the operations of the stream
  std::size_t copied_in = 0,
              copied_out =
                  0;  // bytes at its borders that each run copies; the others it finds where the CPU has them
  std::size_t block_copied_in = 0, block_copied_out = 0;  // the same of the program for blocks of a stream
  std::size_t border_in = 0, border_out = 0;              // bytes of all inputs and outputs
};
struct CompiledGraph {
  Graph graph;
  std::vector<NodeReport> nodes;  // in the order of the model
  std::vector<SegmentReport> segments;
  std::int64_t block = 0;  // source frames of the stream's blocks; 0: whole clips only
  std::vector<std::string> notes;
};

// Errors: unsupported when there is nothing for the NPU, or when the model's stream cannot be stepped there
// and options.block asks for it.
Result<CompiledGraph> compile(const Graph& graph, const Options& options);

}  // namespace runnel::compiler::ethos_u
