#include "compiler/npu/partition.h"

#include <algorithm>
#include <set>

#include "compiler/npu/lowering.h"

namespace runnel::compiler::ethos_u {
namespace {

const Tensor& tensor(const Graph& graph, TensorId id) { return graph.tensors[static_cast<std::size_t>(id)]; }

bool moves_only(const Node& node) {
  return node.code == OpCode::reshape || node.code == OpCode::concat || node.code == OpCode::split ||
         node.code == OpCode::slice;
}

bool is_named(const Graph& graph, const Node& node, const std::string& name) {
  if (node.name == name) return true;
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](TensorId id) { return id >= 0 && tensor(graph, id).name == name; });
}

// What the options say; empty: nothing against it.
std::string forbidden(const Graph& graph, const Node& node, const Options& options,
                      const std::vector<bool>& in_region, std::size_t index) {
  if (std::count(options.forbidden_operators.begin(), options.forbidden_operators.end(),
                 operator_name(node)) > 0)
    return "the operator is forbidden";
  for (const std::string& name : options.forbidden_names) {
    if (is_named(graph, node, name)) return "the name is forbidden";
  }
  if (in_region[index]) return "it lies in a forbidden region";
  if (options.allow && !options.allow(graph, node)) return "the predicate forbids it";
  return {};
}

std::vector<bool> regions(const Graph& graph, const Options& options) {
  std::vector<bool> inside(graph.nodes.size());
  for (const auto& [from, to] : options.forbidden_regions) {
    bool open = false;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      open = open || is_named(graph, graph.nodes[n], from);
      inside[n] = inside[n] || open;
      if (open && is_named(graph, graph.nodes[n], to)) break;
    }
  }
  return inside;
}

}  // namespace

std::string operator_name(const Node& node) { return name_of(node.code); }
std::string name_of(const Graph& graph, const Node& node) {
  if (!node.name.empty() || node.outputs.empty()) return node.name;
  return tensor(graph, node.outputs[0]).name;
}

std::int64_t multiply_adds(const Graph& graph, const Node& node) {
  if (node.code != OpCode::conv && node.code != OpCode::fully_connected) return 0;
  auto count = static_cast<std::int64_t>(element_count(tensor(graph, node.outputs[0]).shape));
  const Dims& weights = tensor(graph, node.inputs[1]).shape;
  for (std::size_t axis = 1; axis < weights.size(); ++axis) count *= weights[axis];
  return count;
}

Partition partition(const Graph& graph, const Options& options, const std::map<int, std::string>& refused) {
  Partition out;
  const std::size_t count = graph.nodes.size();
  out.reasons.resize(count);
  const std::vector<bool> in_region = regions(graph, options);
  for (std::size_t n = 0; n < count; ++n) {
    const Node& node = graph.nodes[n];
    std::string& reason = out.reasons[n];
    reason = forbidden(graph, node, options, in_region, n);
    if (const auto found = refused.find(static_cast<int>(n)); found != refused.end()) reason = found->second;
    if (!reason.empty()) continue;
    // By itself, with operands that lie as they are.
    npu::Program program(options.program);
    if (const Status status = Lowering(graph, program).lower(node); !status.ok())
      reason = std::string(status.text());
  }
  // Steps from one side to the other: even ones are on the CPU.
  std::vector<int> stage(count), producer(graph.tensors.size(), -1);
  for (std::size_t n = 0; n < count; ++n) {
    const bool npu = out.reasons[n].empty();
    int own = npu ? 1 : 0;
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id < 0 || producer[static_cast<std::size_t>(id)] < 0) continue;
      const int before = stage[static_cast<std::size_t>(producer[static_cast<std::size_t>(id)])];
      own = std::max(own, (before % 2 == 1) == npu ? before : before + 1);
    }
    stage[n] = own;
    for (const TensorId id : graph.nodes[n].outputs) {
      if (id >= 0) producer[static_cast<std::size_t>(id)] = static_cast<int>(n);
    }
    out.order.push_back(static_cast<int>(n));
  }
  std::stable_sort(out.order.begin(), out.order.end(), [&](int a, int b) {
    return stage[static_cast<std::size_t>(a)] < stage[static_cast<std::size_t>(b)];
  });
  out.part_of.assign(count, -1);
  std::map<int, std::vector<int>> by_stage;
  for (const int n : out.order) {
    if (stage[static_cast<std::size_t>(n)] % 2 == 1)
      by_stage[stage[static_cast<std::size_t>(n)]].push_back(n);
  }
  for (auto& [number, nodes] : by_stage) {
    const bool only_moves = std::all_of(nodes.begin(), nodes.end(), [&](int n) {
      return moves_only(graph.nodes[static_cast<std::size_t>(n)]);
    });
    for (const int n : nodes) {
      if (only_moves)
        out.reasons[static_cast<std::size_t>(n)] = "only moves what others compute";
      else
        out.part_of[static_cast<std::size_t>(n)] = static_cast<int>(out.parts.size());
    }
    if (!only_moves) out.parts.push_back({std::move(nodes), {}, {}});
  }
  // What crosses the borders.
  for (std::size_t p = 0; p < out.parts.size(); ++p) {
    Part& part = out.parts[p];
    std::set<TensorId> seen, inside;
    for (const int n : part.nodes) {
      for (const TensorId id : graph.nodes[static_cast<std::size_t>(n)].outputs) inside.insert(id);
    }
    for (const int n : part.nodes) {
      for (const TensorId id : graph.nodes[static_cast<std::size_t>(n)].inputs) {
        if (id >= 0 && inside.count(id) == 0 && !tensor(graph, id).data && seen.insert(id).second)
          part.inputs.push_back(id);
      }
    }
    std::set<TensorId> wanted(graph.outputs.begin(), graph.outputs.end());
    for (std::size_t n = 0; n < count; ++n) {
      if (out.part_of[n] == static_cast<int>(p)) continue;
      for (const TensorId id : graph.nodes[n].inputs) wanted.insert(id);
    }
    for (const int n : part.nodes) {
      for (const TensorId id : graph.nodes[static_cast<std::size_t>(n)].outputs) {
        if (id >= 0 && wanted.count(id) > 0) part.outputs.push_back(id);
      }
    }
  }
  return out;
}

}  // namespace runnel::compiler::ethos_u
