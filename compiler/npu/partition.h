// Which nodes of a graph an Ethos-U computes, and how they are joined to segments.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/npu/options.h"

namespace runnel::compiler::ethos_u {

// Nodes that are computed together: nothing that leaves a segment comes back into it.
struct Part {
  std::vector<int> nodes;  // in the order of execution
  std::vector<TensorId> inputs, outputs;
};

struct Partition {
  std::vector<std::string> reasons;  // of each node: why it stays on the CPU; empty: it does not
  std::vector<int> order;            // nodes so that segments are in one piece
  std::vector<Part> parts;
  std::vector<int> part_of;  // of each node; -1: on the CPU
};

// `refused`: nodes that must stay on the CPU, and why, besides what the options forbid and the hardware does
// not do.
Partition partition(const Graph& graph, const Options& options,
                    const std::map<int, std::string>& refused = {});

// Multiply-adds of a node with weights; 0 for others.
std::int64_t multiply_adds(const Graph& graph, const Node& node);
// "conv", ...
std::string operator_name(const Node& node);
// Of the node, or of what it computes.
std::string name_of(const Graph& graph, const Node& node);

}  // namespace runnel::compiler::ethos_u
