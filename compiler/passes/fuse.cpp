#include "compiler/passes/fuse.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "compiler/passes/fuse_swoosh.h"
#include "compiler/passes/simplify/tidy.h"

namespace runnel::compiler {
namespace {

std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> values(tensor.data->size() / sizeof(float));
  std::memcpy(values.data(), tensor.data->data(), values.size() * sizeof(float));
  return values;
}

class Fusion {
 public:
  explicit Fusion(Graph& graph)
      : graph_(graph),
        readers_(graph.tensors.size(), 0),
        maker_(graph.tensors.size(), -1),
        removed_(graph.nodes.size(), false) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const TensorId id : graph.nodes[i].inputs) {
        if (id >= 0) ++readers_[static_cast<std::size_t>(id)];
      }
      for (const TensorId id : graph.nodes[i].outputs)
        maker_[static_cast<std::size_t>(id)] = static_cast<int>(i);
    }
    for (const TensorId id : graph.outputs) ++readers_[static_cast<std::size_t>(id)];
  }

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.code == OpCode::relu)
        take_relu(i);
      else if (node.code == OpCode::mul || node.code == OpCode::add || node.code == OpCode::sub)
        take_constant(i);
    }
    std::size_t i = 0;
    std::erase_if(graph_.nodes, [&](const Node&) { return removed_[i++]; });
    drop_unread(graph_);
  }

 private:
  Tensor& tensor(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }

  // The node whose only reader is this one; null when there is none.
  Node* only_maker(TensorId id) {
    if (tensor(id).data || readers_[static_cast<std::size_t>(id)] != 1 ||
        maker_[static_cast<std::size_t>(id)] < 0)
      return nullptr;
    return &graph_.nodes[static_cast<std::size_t>(maker_[static_cast<std::size_t>(id)])];
  }

  static Activation* activation_of(Node& node) {
    if (auto* conv = std::get_if<ConvOptions>(&node.options)) return &conv->activation;
    if (auto* dense = std::get_if<FullyConnectedOptions>(&node.options))
      return node.code == OpCode::fully_connected ? &dense->activation : nullptr;
    if (auto* pair = std::get_if<BinaryOptions>(&node.options)) {
      return node.code == OpCode::add || node.code == OpCode::sub || node.code == OpCode::mul
                 ? &pair->activation
                 : nullptr;
    }
    return nullptr;
  }

  // `maker` computes what node `i` did.
  void replace(Node& maker, std::size_t i) {
    maker.outputs[0] = graph_.nodes[i].outputs[0];
    maker_[static_cast<std::size_t>(maker.outputs[0])] = static_cast<int>(&maker - graph_.nodes.data());
    removed_[i] = true;
  }

  void take_relu(std::size_t i) {
    if (tensor(graph_.nodes[i].outputs[0]).dtype != DType::float32) return;
    Node* maker = only_maker(graph_.nodes[i].inputs[0]);
    Activation* activation = maker == nullptr ? nullptr : activation_of(*maker);
    if (activation == nullptr || *activation != Activation::none) return;
    *activation = Activation::relu;
    replace(*maker, i);
  }

  // One number per channel; empty when the constant is something else.
  std::vector<float> per_channel(const Tensor& constant, const Tensor& y) const {
    if (!constant.data || constant.dtype != DType::float32 || y.shape.empty()) return {};
    const std::size_t channels = static_cast<std::size_t>(y.shape.back());
    std::vector<float> values = floats_of(constant);
    if (values.size() == channels && !constant.shape.empty() && constant.shape.back() == y.shape.back())
      return values;
    if (values.size() == 1) return std::vector<float>(channels, values[0]);
    return {};
  }

  TensorId add_constant(const Tensor& like, std::vector<std::int32_t> shape, std::span<const float> values) {
    Tensor made;
    made.name = like.name;
    made.dtype = DType::float32;
    made.shape = std::move(shape);
    made.data.emplace(values.size_bytes());
    std::memcpy(made.data->data(), values.data(), values.size_bytes());
    graph_.tensors.push_back(std::move(made));
    readers_.push_back(1);
    maker_.push_back(-1);
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }

  void take_constant(std::size_t i) {
    const Node& node = graph_.nodes[i];
    const auto* options = std::get_if<BinaryOptions>(&node.options);
    if (options == nullptr || options->activation != Activation::none) return;
    const std::size_t which = tensor(node.inputs[1]).data ? 1 : 0;
    if (node.code == OpCode::sub && which == 0) return;
    const TensorId x = node.inputs[1 - which];
    const std::vector<float> values = per_channel(tensor(node.inputs[which]), tensor(node.outputs[0]));
    Node* maker = only_maker(x);
    if (values.empty() || maker == nullptr || tensor(x).shape != tensor(node.outputs[0]).shape ||
        (maker->code != OpCode::conv && maker->code != OpCode::fully_connected))
      return;
    if (*activation_of(*maker) != Activation::none || maker->inputs.size() < 2 ||
        !tensor(maker->inputs[1]).data)
      return;
    if (node.code == OpCode::mul)
      scale(*maker, values);
    else
      shift(*maker, values, node.code == OpCode::sub ? -1.0f : 1.0f);
    replace(*maker, i);
  }

  void scale(Node& maker, const std::vector<float>& factors) {
    const std::vector<std::int32_t> shape = tensor(maker.inputs[1]).shape;
    std::vector<float> weights = floats_of(tensor(maker.inputs[1]));
    const std::size_t row = weights.size() / factors.size();
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k] *= factors[k / row];
    maker.inputs[1] = add_constant(tensor(maker.inputs[1]), shape, weights);
    if (maker.inputs.size() < 3 || maker.inputs[2] < 0) return;
    std::vector<float> bias = floats_of(tensor(maker.inputs[2]));
    for (std::size_t k = 0; k < bias.size(); ++k) bias[k] *= factors[k];
    maker.inputs[2] = add_constant(tensor(maker.inputs[2]), {static_cast<std::int32_t>(bias.size())}, bias);
  }

  void shift(Node& maker, const std::vector<float>& summands, float sign) {
    maker.inputs.resize(3, kAbsent);
    const bool given = maker.inputs[2] >= 0;
    std::vector<float> bias =
        given ? floats_of(tensor(maker.inputs[2])) : std::vector<float>(summands.size(), 0.0f);
    for (std::size_t k = 0; k < bias.size(); ++k) bias[k] += sign * summands[k];
    maker.inputs[2] =
        add_constant(tensor(maker.inputs[given ? 2 : 1]), {static_cast<std::int32_t>(bias.size())}, bias);
  }

  Graph& graph_;
  std::vector<int> readers_, maker_;
  std::vector<bool> removed_;
};

}  // namespace

void fuse(Graph& graph) {
  fuse_swoosh(graph);
  Fusion(graph).run();
}

}  // namespace runnel::compiler
