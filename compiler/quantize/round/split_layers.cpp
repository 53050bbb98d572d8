#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/quantize/round/equalize.h"
#include "compiler/quantize/round/quantization_grid.h"

namespace runnel::compiler::quantizer {
namespace {

// A layer is split when its largest weight is this much larger than the root of the mean square.
constexpr double kOutlier = 8;

}  // namespace

void split_layers(Graph& graph, const Options& options) {
  if (options.target.per_channel) return;
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    const bool layer =
        (node.code == OpCode::conv || node.code == OpCode::fully_connected) && node.inputs.size() > 1;
    const std::vector<float> values =
        layer ? floats_of(graph.tensors[static_cast<std::size_t>(node.inputs[1])]) : std::vector<float>();
    double most = 0, squares = 0;
    for (const float value : values) {
      most = std::max(most, std::abs(static_cast<double>(value)));
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    if (values.empty() || most < kOutlier * std::sqrt(squares / static_cast<double>(values.size()))) {
      nodes.push_back(std::move(node));
      continue;
    }
    std::vector<float> halves(values.size(), 0.0f), rest = values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::abs(static_cast<double>(values[i])) <= most / 2) continue;
      halves[i] = values[i] / 2;
      rest[i] = values[i] - halves[i];
    }
    const auto add_tensor = [&](TensorId like, const char* suffix, const std::vector<float>* data) {
      Tensor made = graph.tensors[static_cast<std::size_t>(like)];
      made.name += suffix;
      if (data != nullptr) std::memcpy(made.data->data(), data->data(), data->size() * sizeof(float));
      graph.tensors.push_back(std::move(made));
      return static_cast<TensorId>(graph.tensors.size()) - 1;
    };
    Activation activation = Activation::none;
    const auto take_activation = [&](Node& from) {
      Activation* own = nullptr;
      if (auto* conv = std::get_if<ConvOptions>(&from.options)) own = &conv->activation;
      if (auto* dense = std::get_if<FullyConnectedOptions>(&from.options)) own = &dense->activation;
      if (own != nullptr) std::swap(*own, activation);
    };
    take_activation(node);
    Node large = node, sum;
    large.name += ".large";
    large.inputs.resize(2);
    large.inputs[1] = add_tensor(node.inputs[1], ".large", &halves);
    node.inputs[1] = add_tensor(node.inputs[1], ".rest", &rest);
    sum.name = node.name + ".sum";
    sum.code = OpCode::add;
    sum.outputs = node.outputs;
    sum.options = BinaryOptions{activation};
    node.outputs = {add_tensor(sum.outputs[0], ".rest", nullptr)};
    large.outputs = {add_tensor(sum.outputs[0], ".large", nullptr)};
    sum.inputs = {node.outputs[0], large.outputs[0]};
    nodes.push_back(std::move(node));
    nodes.push_back(std::move(large));
    nodes.push_back(std::move(sum));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace runnel::compiler::quantizer
