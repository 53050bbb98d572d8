#include "compiler/passes/frames_first.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "compiler/ir/graph_editor.h"

namespace runnel::compiler {
namespace {

using Order = std::vector<std::uint8_t>;

Order inverse_of(const Order& order) {
  Order inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<std::uint8_t>(i);
  return inverse;
}

std::vector<std::int32_t> ordered(const std::vector<std::int32_t>& shape, const Order& order) {
  std::vector<std::int32_t> out;
  for (const std::uint8_t axis : order) out.push_back(shape[axis]);
  return out;
}

class FramesFirst {
 public:
  explicit FramesFirst(Graph& graph) : graph_(graph) {}

  std::vector<std::string> run() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) turn_input(i);
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o) turn_output(o);
    return changed_;
  }

 private:
  Tensor& at(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }
  bool is_state(TensorId id) const {
    const auto& states = graph_.pipeline.states;
    return std::any_of(states.begin(), states.end(),
                       [&](const auto& state) { return state.first == id || state.second == id; });
  }
  bool is_output(TensorId id) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
  }
  static bool reads(const Node& node, TensorId id) {
    return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
  }
  static const Order* order_of(const Node& node) {
    return node.code == OpCode::transpose ? &std::get<TransposeOptions>(node.options).perm : nullptr;
  }

  void turn_vectors(TensorId from, TensorId to, const Order& order) {
    for (VectorCase& recorded : graph_.vectors) {
      for (auto* list : {&recorded.inputs, &recorded.outputs}) {
        for (VectorTensor& vector : *list) {
          if (vector.tensor != from) continue;
          Tensor values = at(from);
          values.shape = vector.shape;
          values.data = std::move(vector.data);
          values = transposed_constant(values, order);
          vector = {to, std::move(values.shape), std::move(*values.data)};
        }
      }
    }
  }

  // Time, and nothing but axes of 1 before it.
  static bool leads(const std::vector<std::int32_t>& shape, std::size_t axis) {
    return std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis),
                       [](std::int32_t dim) { return dim == 1; });
  }

  void turn_input(std::size_t i) {
    const TensorId x = graph_.inputs[i];
    if (i >= graph_.time_axes.size() || graph_.time_axes[i] < 0 || is_state(x) || is_output(x)) return;
    const Order* order = nullptr;
    std::set<TensorId> turned;
    for (const Node& node : graph_.nodes) {
      if (!reads(node, x)) continue;
      const Order* const own = order_of(node);
      if (own == nullptr || (order != nullptr && *own != *order) || is_output(node.outputs[0])) return;
      order = own;
      turned.insert(node.outputs[0]);
    }
    if (order == nullptr) return;
    const Order kept = *order;  // the nodes go
    const auto axis =
        static_cast<std::size_t>(std::find(kept.begin(), kept.end(), graph_.time_axes[i]) - kept.begin());
    const std::vector<std::int32_t> shape = ordered(at(x).shape, kept);
    if (!leads(shape, axis) || leads(at(x).shape, static_cast<std::size_t>(graph_.time_axes[i]))) return;
    turn_vectors(x, x, kept);
    at(x).shape = shape;
    graph_.time_axes[i] = static_cast<int>(axis);
    std::erase_if(graph_.nodes, [&](const Node& node) { return reads(node, x); });
    for (Node& node : graph_.nodes) {
      for (TensorId& id : node.inputs) {
        if (turned.contains(id)) id = x;
      }
    }
    orders_.push_back(inverse_of(kept));
    changed_.push_back(at(x).name);
  }

  void turn_output(std::size_t o) {
    const TensorId y = graph_.outputs[o];
    const auto node = std::find_if(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& candidate) {
      return !candidate.outputs.empty() && candidate.outputs[0] == y;
    });
    if (node == graph_.nodes.end() || order_of(*node) == nullptr ||
        std::find(orders_.begin(), orders_.end(), *order_of(*node)) == orders_.end() || is_state(y))
      return;
    const TensorId z = node->inputs[0];
    const bool computed = std::any_of(graph_.nodes.begin(), node, [&](const Node& candidate) {
      return std::find(candidate.outputs.begin(), candidate.outputs.end(), z) != candidate.outputs.end();
    });
    if (!computed || is_output(z) || is_state(z) ||
        std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                    [&](const Node& reader) { return reads(reader, y); }))
      return;
    turn_vectors(y, z, inverse_of(*order_of(*node)));
    std::swap(at(z).name, at(y).name);
    graph_.outputs[o] = z;
    graph_.nodes.erase(node);
    changed_.push_back(at(z).name);
  }

  Graph& graph_;
  std::vector<Order> orders_;  // that would undo what was taken away at the inputs
  std::vector<std::string> changed_;
};

}  // namespace

std::vector<std::string> put_frames_first(Graph& graph) { return FramesFirst(graph).run(); }

}  // namespace runnel::compiler
