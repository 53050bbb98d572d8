// Rewriting a graph node by node, in execution order.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"

namespace runnel::compiler {

// Takes the nodes out of a graph, so that others can be put in. Tensors keep their numbers; new ones come
// after.
class GraphEditor {
 public:
  explicit GraphEditor(Graph& graph);
  GraphEditor(const GraphEditor&) = delete;
  GraphEditor& operator=(const GraphEditor&) = delete;

  // The nodes that the graph had.
  [[nodiscard]] const std::vector<Node>& old() const { return old_; }
  [[nodiscard]] Tensor& tensor(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const std::vector<std::int32_t>& shape(TensorId id) { return tensor(id).shape; }

  void add(Node node);
  // A tensor like `like` of another shape; its name is that of `like` and `suffix`.
  TensorId like(TensorId like, std::vector<std::int32_t> shape, const char* suffix);
  // x with its axes in another order; nothing is added for the order it has, and two transpositions become
  // one. `to`: the tensor that receives it.
  TensorId transpose(TensorId x, const std::vector<std::uint8_t>& perm, const Node& origin,
                     TensorId to = kAbsent);
  TensorId reshape(TensorId x, std::vector<std::int32_t> shape, const Node& origin, TensorId to = kAbsent);

 private:
  Graph& graph_;
  std::vector<Node> old_;
};

// A constant with its axes in another order.
Tensor transposed_constant(const Tensor& tensor, const std::vector<std::uint8_t>& perm);

}  // namespace runnel::compiler
