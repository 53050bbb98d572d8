#include "compiler/import/onnx/integers/value_table.h"

#include <algorithm>
#include <map>

#include "compiler/run_whole.h"
#include "inference/host/operator_traits.h"

namespace runnel::compiler {
namespace {

constexpr std::size_t kMaxNodes = 32;

const Tensor& tensor_of(const Graph& graph, TensorId id) {
  return graph.tensors[static_cast<std::size_t>(id)];
}

std::int64_t elements(const Tensor& tensor) { return static_cast<std::int64_t>(element_count(tensor.shape)); }

bool is_pointwise(const Node& node) {
  return node.code == OpCode::relu || node.code == OpCode::clip || is_function(node.code) ||
         is_pair(node.code);
}

class Search {
 public:
  Search(const Graph& graph, const std::vector<int>& makers) : graph_(graph), makers_(makers) {}

  bool visit(TensorId id) {
    const Tensor& tensor = tensor_of(graph_, id);
    if (tensor.dtype != DType::float32) return false;
    if (tensor.data) return elements(tensor) == 1;
    const int maker = makers_[static_cast<std::size_t>(id)];
    if (maker < 0) return false;
    const Node& node = graph_.nodes[static_cast<std::size_t>(maker)];
    if (node.code == OpCode::dequantize) {
      if (found.x != kAbsent && found.x != id) return false;
      found.x = id;
      return true;
    }
    if (std::find(found.nodes.begin(), found.nodes.end(), static_cast<std::size_t>(maker)) !=
        found.nodes.end())
      return true;
    if (!is_pointwise(node) || found.nodes.size() >= kMaxNodes) return false;
    for (const TensorId input : node.inputs) {
      if (input < 0 || !visit(input)) return false;
    }
    found.nodes.push_back(static_cast<std::size_t>(maker));
    return true;
  }

  Pointwise found;

 private:
  const Graph& graph_;
  const std::vector<int>& makers_;
};

}  // namespace

std::optional<Pointwise> find_pointwise(const Graph& graph, const std::vector<int>& makers, TensorId y) {
  Search search(graph, makers);
  if (!search.visit(y) || search.found.x == kAbsent) return std::nullopt;
  if (tensor_of(graph, search.found.x).shape != tensor_of(graph, y).shape) return std::nullopt;
  return search.found;
}

Result<std::vector<std::byte>> table_of(const Graph& graph, const Pointwise& piece, TensorId from,
                                        TensorId to, TensorId y) {
  Graph small;
  std::map<TensorId, TensorId> ids;
  const auto id_of = [&](TensorId id) {
    const auto [place, fresh] = ids.emplace(id, static_cast<TensorId>(small.tensors.size()));
    if (fresh) {
      small.tensors.push_back(tensor_of(graph, id));
      small.tensors.back().shape = {small.tensors.back().data ? 1 : 256};
    }
    return place->second;
  };
  Node first, last;
  first.code = OpCode::dequantize;
  last.code = OpCode::quantize;
  first.arithmetic = last.arithmetic = Arithmetic::tflite;
  last.rounding = kernels::Rounding::half_even;
  first.inputs = {id_of(from)};
  first.outputs = {id_of(piece.x)};
  small.nodes.push_back(first);
  for (const std::size_t index : piece.nodes) {
    Node node = graph.nodes[index];
    for (TensorId& id : node.inputs) id = id_of(id);
    for (TensorId& id : node.outputs) id = id_of(id);
    small.nodes.push_back(std::move(node));
  }
  last.inputs = {id_of(y)};
  small.tensors.push_back(tensor_of(graph, to));  // `to` may be `from`'s tensor as well
  small.tensors.back().shape = {256};
  last.outputs = {static_cast<TensorId>(small.tensors.size() - 1)};
  small.nodes.push_back(last);
  small.inputs = {ids.at(from)};
  small.outputs = last.outputs;
  Buffers every(1, std::vector<std::byte>(256));
  for (int i = 0; i < 256; ++i) every[0][static_cast<std::size_t>(i)] = static_cast<std::byte>(i - 128);
  RUNNEL_ASSIGN(std::vector<Buffers> results, run_whole(small, {every}));
  return std::move(results[0][0]);
}

}  // namespace runnel::compiler
