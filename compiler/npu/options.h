// What a compilation for an Ethos-U can be told.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "npu/host/encoder/program.h"

namespace runnel::compiler::ethos_u {

struct Options {
  npu::ProgramOptions program;
  // What stays on the CPU: kinds of operators ("softmax"), nodes by name (or by the name of what they
  // compute), and all nodes from one name to another in the order of execution.
  std::vector<std::string> forbidden_operators, forbidden_names;
  std::vector<std::pair<std::string, std::string>> forbidden_regions;
  // Besides: false keeps a node on the CPU.
  std::function<bool(const Graph& graph, const Node& node)> allow;
  // Inputs and outputs at places in the scratch memory, as files of other tools state them, instead of
  // regions of their own.
  bool borders_in_scratch = false;
  static constexpr int kWholeClips = -1, kSmallestBlock = 0;
  int block = kWholeClips;  // source frames that one call takes; sessions may take multiples
};

}  // namespace runnel::compiler::ethos_u
