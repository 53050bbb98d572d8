#include "compiler/passes/simplify/fuse_norm.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/passes/graph_piece.h"
#include "compiler/passes/simplify/tidy.h"

namespace runnel::compiler {
namespace {

class Normalizations {
 public:
  explicit Normalizations(Graph& graph) : graph_(graph), makers_(makers_of(graph)) {
    readers_.assign(graph.tensors.size(), 0);
    for (const Node& node : graph.nodes) {
      for (const TensorId id : node.inputs) {
        if (id >= 0) ++readers_[static_cast<std::size_t>(id)];
      }
    }
    for (const TensorId id : graph.outputs) ++readers_[static_cast<std::size_t>(id)];
    for (const auto& state : graph.pipeline.states) ++readers_[static_cast<std::size_t>(state.first)];
  }

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!fuse_norm(i)) fuse_swish(i);
    }
    drop_unread(graph_);
  }

 private:
  const Tensor& at(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)]; }
  // The node that computes `id`, if it is this one without an activation and nobody else reads its result.
  const Node* only(TensorId id, OpCode code) const {
    return id >= 0 && readers_[static_cast<std::size_t>(id)] == 1 ? made_by(id, code) : nullptr;
  }
  const Node* made_by(TensorId id, OpCode code) const {
    const int maker = id < 0 ? -1 : makers_[static_cast<std::size_t>(id)];
    return maker < 0 ? nullptr : plain(graph_.nodes[static_cast<std::size_t>(maker)], code);
  }
  const Node* plain(const Node& node, OpCode code) const {
    const auto* options = std::get_if<BinaryOptions>(&node.options);
    const bool activated = options != nullptr && options->activation != Activation::none;
    return node.code == code && !activated && node.arithmetic == Arithmetic::espdl &&
                   at(node.outputs[0]).dtype == DType::float32
               ? &node
               : nullptr;
  }
  std::optional<float> scalar(TensorId id) const {
    const Tensor& tensor = at(id);
    if (!tensor.data || tensor.dtype != DType::float32 || tensor.data->size() != sizeof(float))
      return std::nullopt;
    float value = 0;
    std::memcpy(&value, tensor.data->data(), sizeof value);
    return value;
  }
  // The mean over the last axis, which stays with one element.
  const Node* mean_of(TensorId id) const {
    const Node* const mean = made_by(id, OpCode::reduce_mean);
    if (mean == nullptr) return nullptr;
    const auto& from = at(mean->inputs[0]).shape;
    auto kept = from;
    if (kept.empty()) return nullptr;
    kept.back() = 1;
    const auto& axes = std::get<ReduceOptions>(mean->options).axes;
    const auto last = static_cast<int>(from.size()) - 1;
    return axes.size() == 1 && static_cast<int>(axes[0]) == last && at(id).shape == kept ? mean : nullptr;
  }
  // The sum of a computed value and a scalar.
  std::optional<std::pair<TensorId, float>> beside(const Node* node) const {
    if (node == nullptr) return std::nullopt;
    for (const std::size_t which : {0u, 1u}) {
      if (const auto value = scalar(node->inputs[which])) return std::pair{node->inputs[1 - which], *value};
    }
    return std::nullopt;
  }
  // A constant with one value for each element of the last axis, of floats.
  bool per_channel(TensorId id, std::int32_t channels) const {
    const Tensor& tensor = at(id);
    return tensor.data && tensor.dtype == DType::float32 && !tensor.shape.empty() &&
           tensor.shape.back() == channels &&
           tensor.data->size() == static_cast<std::size_t>(channels) * sizeof(float);
  }

  // d / sqrt(mean(d d) + epsilon) with d = x - mean(x), then gain and offset.
  bool fuse_norm(std::size_t i) {
    const Node* const quotient = plain(graph_.nodes[i], OpCode::div);
    if (quotient == nullptr) return false;
    const TensorId d = quotient->inputs[0];
    const Node* const root = only(quotient->inputs[1], OpCode::sqrt);
    const auto sum = root == nullptr ? std::nullopt : beside(only(root->inputs[0], OpCode::add));
    const Node* const variance = sum && sum->second >= 0 ? mean_of(sum->first) : nullptr;
    const Node* const square = variance == nullptr ? nullptr : only(variance->inputs[0], OpCode::mul);
    const Node* const difference = made_by(d, OpCode::sub);
    if (square == nullptr || square->inputs[0] != d || square->inputs[1] != d || difference == nullptr)
      return false;
    const Node* const mean = mean_of(difference->inputs[1]);
    const TensorId x = difference->inputs[0];
    if (mean == nullptr || mean->inputs[0] != x || at(x).shape != at(d).shape) return false;
    const std::int32_t channels = at(x).shape.back();
    Node made = *quotient;
    made.code = OpCode::layer_norm;
    NormOptions options;
    options.axis = static_cast<int>(at(x).shape.size()) - 1;
    options.epsilon = sum->second;
    made.options = options;
    made.inputs = {x};
    std::size_t last = i;
    const TensorId gain = following(OpCode::mul, channels, last, made);
    made.inputs.push_back(gain == kAbsent ? ones(channels, made.name) : gain);
    const TensorId offset = following(OpCode::add, channels, last, made);
    if (offset != kAbsent) made.inputs.push_back(offset);
    graph_.nodes[last] = std::move(made);  // the operators before it are read no more
    return true;
  }

  // A factor or summand per channel by the only reader of what `made` computes: `made` takes it over.
  TensorId following(OpCode code, std::int32_t channels, std::size_t& last, Node& made) const {
    const TensorId y = made.outputs[0];
    if (readers_[static_cast<std::size_t>(y)] != 1) return kAbsent;
    for (std::size_t k = last + 1; k < graph_.nodes.size(); ++k) {
      const Node& node = graph_.nodes[k];
      for (std::size_t which = 0; which < node.inputs.size(); ++which) {
        if (node.inputs[which] != y) continue;
        if (plain(node, code) == nullptr || node.inputs.size() != 2) return kAbsent;
        const TensorId constant = node.inputs[1 - which];
        if (constant < 0 || !per_channel(constant, channels) || at(node.outputs[0]).shape != at(y).shape)
          return kAbsent;
        last = k;
        made.outputs = node.outputs;
        return constant;
      }
    }
    return kAbsent;
  }

  TensorId ones(std::int32_t channels, const std::string& name) {
    Tensor made;
    made.name = name + ".scale";
    made.dtype = DType::float32;
    made.shape = {channels};
    const std::vector<float> values(static_cast<std::size_t>(channels), 1.0f);
    made.data.emplace(values.size() * sizeof(float));
    std::memcpy(made.data->data(), values.data(), made.data->size());
    graph_.tensors.push_back(std::move(made));
    readers_.push_back(1);
    makers_.push_back(-1);
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }

  void fuse_swish(std::size_t i) {
    Node& node = graph_.nodes[i];
    if (plain(node, OpCode::mul) == nullptr) return;
    for (const std::size_t which : {0u, 1u}) {
      const Node* const sigmoid = only(node.inputs[which], OpCode::sigmoid);
      if (sigmoid == nullptr || sigmoid->inputs[0] != node.inputs[1 - which]) continue;
      node.code = OpCode::swish;
      node.options = FunctionOptions{};
      node.inputs = {sigmoid->inputs[0]};
      return;
    }
  }

  Graph& graph_;
  std::vector<int> makers_, readers_;
};

}  // namespace

void fuse_normalizations(Graph& graph) { Normalizations(graph).run(); }

}  // namespace runnel::compiler
