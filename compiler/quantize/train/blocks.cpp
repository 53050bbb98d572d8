#include "compiler/quantize/train/blocks.h"

#include <algorithm>
#include <set>

#include "compiler/quantize/train/block_net.h"

namespace runnel::compiler::quantizer {
namespace {

// Computed tensors that are read at or after a node and made before it.
std::set<TensorId> passing(const Graph& graph, std::size_t node) {
  std::set<TensorId> made(graph.inputs.begin(), graph.inputs.end()), live;
  for (std::size_t n = 0; n < node; ++n)
    made.insert(graph.nodes[n].outputs.begin(), graph.nodes[n].outputs.end());
  for (std::size_t n = node; n < graph.nodes.size(); ++n) {
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id >= 0 && made.contains(id)) live.insert(id);
    }
  }
  return live;
}

int layers_in(const Plan& plan, std::size_t first, std::size_t end) {
  return static_cast<int>(std::count(plan.roles.begin() + static_cast<std::ptrdiff_t>(first),
                                     plan.roles.begin() + static_cast<std::ptrdiff_t>(end), Role::weighted));
}

}  // namespace

std::vector<Block> blocks_of(const Graph& graph, const Plan& plan, int layers) {
  std::vector<Block> blocks;
  Block open;  // [first, end): empty when it has no nodes
  const auto close = [&] {
    if (open.end > open.first && layers_in(plan, open.first, open.end) > 0) {
      const std::set<TensorId> needed_later = passing(graph, open.end);
      for (std::size_t n = open.first; n < open.end; ++n) {
        for (const TensorId id : graph.nodes[n].outputs) {
          if (needed_later.contains(id) ||
              std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end())
            open.outputs.push_back(id);
        }
      }
      blocks.push_back(open);
    }
    open = {};
  };
  std::size_t start = 0;
  for (std::size_t cut = 1; cut <= graph.nodes.size(); ++cut) {
    const std::set<TensorId> before = passing(graph, start);
    if (cut < graph.nodes.size() && passing(graph, cut).size() != 1) continue;
    bool fits = before.size() == 1;
    for (std::size_t n = start; n < cut && fits; ++n)
      fits = BlockNet::supports(graph, plan, n) && plan.types[n] == plan.types[start];
    const bool follows =
        fits && open.end == start && open.end > open.first && plan.types[open.first] == plan.types[start];
    if (!follows) close();
    if (fits) {
      if (!follows) {
        open.first = start;
        open.input = *before.begin();
      }
      open.end = cut;
      if (layers_in(plan, open.first, open.end) >= layers) close();
    }
    start = cut;
  }
  close();
  return blocks;
}

}  // namespace runnel::compiler::quantizer
