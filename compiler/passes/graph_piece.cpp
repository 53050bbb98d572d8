#include "compiler/passes/graph_piece.h"

#include <cstring>
#include <set>
#include <utility>

#include "compiler/run_whole.h"

namespace runnel::compiler {
namespace {

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

class Piece {
 public:
  Piece(const Graph& graph, const std::vector<int>& makers,
        const std::map<TensorId, std::vector<float>>& given)
      : graph_(graph), makers_(makers), given_(given) {}

  // Collects what computes `target`, in the order of the graph.
  Status collect(TensorId target) {
    std::vector<TensorId> open = {target};
    std::set<TensorId> seen;
    while (!open.empty()) {
      const TensorId id = open.back();
      open.pop_back();
      if (id < 0 || !seen.insert(id).second || given_.contains(id) || tensor(id).data) continue;
      const int maker = makers_[static_cast<std::size_t>(id)];
      if (maker < 0)
        return Status(Code::unsupported) << "\"" << tensor(id).name << "\" is known only at run time";
      if (!nodes_.insert(maker).second) continue;
      for (const TensorId input : node(maker).inputs) open.push_back(input);
    }
    return {};
  }

  Result<std::vector<float>> run(TensorId target) {
    Graph small;
    Buffers inputs;
    for (const int index : nodes_) {
      Node copy = node(index);
      for (TensorId& id : copy.inputs) id = copied(id, small, inputs);
      for (TensorId& id : copy.outputs) id = copied(id, small, inputs);
      small.nodes.push_back(std::move(copy));
    }
    small.outputs = {ids_.at(target)};
    if (small.inputs.empty()) RUNNEL_TRY(feed_a_constant(small, inputs));
    RUNNEL_ASSIGN(std::vector<Buffers> results, run_whole(small, {inputs}, 0, false));
    return floats_of(results[0][0]);
  }

 private:
  const Tensor& tensor(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)]; }
  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }

  TensorId copied(TensorId id, Graph& small, Buffers& inputs) {
    if (id < 0) return id;
    const auto [place, fresh] = ids_.emplace(id, static_cast<TensorId>(small.tensors.size()));
    if (fresh) {
      small.tensors.push_back(tensor(id));
      if (const auto values = given_.find(id); values != given_.end()) {
        small.tensors.back().data.reset();
        small.inputs.push_back(place->second);
        inputs.push_back(bytes_of(values->second));
      }
    }
    return place->second;
  }

  // A model has an input: one of the constants that operators read as any other operand.
  static Status feed_a_constant(Graph& small, Buffers& inputs) {
    for (const Node& node : small.nodes) {
      if (node.inputs.empty() || node.inputs[0] < 0) continue;
      Tensor& first = small.tensors[static_cast<std::size_t>(node.inputs[0])];
      if (!first.data || first.dtype != DType::float32) continue;
      small.inputs.push_back(node.inputs[0]);
      inputs.push_back(std::move(*first.data));
      first.data.reset();
      return {};
    }
    return Status(Code::unsupported, "nothing of float32 that it is computed from");
  }

  const Graph& graph_;
  const std::vector<int>& makers_;
  const std::map<TensorId, std::vector<float>>& given_;
  std::set<int> nodes_;
  std::map<TensorId, TensorId> ids_;
};

}  // namespace

std::vector<int> makers_of(const Graph& graph) {
  std::vector<int> makers(graph.tensors.size(), -1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const TensorId id : graph.nodes[n].outputs)
      makers[static_cast<std::size_t>(id)] = static_cast<int>(n);
  }
  return makers;
}

Result<std::vector<float>> values_inside(const Graph& graph, const std::vector<int>& makers, TensorId target,
                                         const std::map<TensorId, std::vector<float>>& given) {
  const Tensor& tensor = graph.tensors[static_cast<std::size_t>(target)];
  if (tensor.dtype != DType::float32)
    return Status(Code::unsupported) << "\"" << tensor.name << "\" is " << name_of(tensor.dtype)
                                     << ", expected float32";
  if (const auto known = given.find(target); known != given.end()) return known->second;
  if (tensor.data) return floats_of(*tensor.data);
  Piece piece(graph, makers, given);
  RUNNEL_TRY(piece.collect(target));
  return piece.run(target);
}

}  // namespace runnel::compiler
