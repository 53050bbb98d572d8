#include "compiler/quantize/equalize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "compiler/quantize/clip_runner.h"
#include "compiler/quantize/gram.h"
#include "compiler/quantize/grid.h"
#include "compiler/quantize/trace.h"

namespace runnel::compiler::quantizer {
namespace {

using fb::OpCode;

constexpr double kMostFactor = 16;

void store_floats(Tensor& tensor, const std::vector<float>& values) { std::memcpy(tensor.data->data(), values.data(), values.size() * sizeof(float)); }

bool is_weighted(const Graph& graph, const Node& node) {
  if (node.code != OpCode::conv && node.code != OpCode::fully_connected) return false;
  return node.inputs.size() > 1 && graph.tensors[static_cast<std::size_t>(node.inputs[1])].data && graph.tensors[static_cast<std::size_t>(node.inputs[1])].dtype == DType::float32;
}

// Upstream and downstream operator, by number, and the tensor between them.
struct Pair {
  std::size_t up = 0, down = 0;
  TensorId between = kAbsent;
};

std::vector<Pair> pairs_of(const Graph& graph) {
  std::vector<Pair> pairs;
  std::vector<int> readers(graph.tensors.size(), 0), uses(graph.tensors.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) {
      if (id >= 0) ++readers[static_cast<std::size_t>(id)];
    }
  }
  for (const TensorId id : graph.outputs) ++readers[static_cast<std::size_t>(id)];
  for (std::size_t d = 0; d < graph.nodes.size(); ++d) {
    const Node& down = graph.nodes[d];
    if (!is_weighted(graph, down)) continue;
    const TensorId x = down.inputs[0];
    for (std::size_t u = 0; u < d; ++u) {
      const Node& up = graph.nodes[u];
      if (!is_weighted(graph, up) || up.outputs[0] != x || readers[static_cast<std::size_t>(x)] != 1) continue;
      // Weights that several operators share stay as they are.
      const bool shared = readers[static_cast<std::size_t>(up.inputs[1])] != 1 || readers[static_cast<std::size_t>(down.inputs[1])] != 1 ||
                          (up.inputs.size() > 2 && up.inputs[2] >= 0 && readers[static_cast<std::size_t>(up.inputs[2])] != 1);
      if (!shared) pairs.push_back({u, d, x});
    }
  }
  return pairs;
}

// Largest magnitude of what multiplies each input channel of a weighted operator.
std::vector<double> reach_of(const Graph& graph, const Node& node, std::size_t channels) {
  const Tensor& w = graph.tensors[static_cast<std::size_t>(node.inputs[1])];
  const std::vector<float> values = floats_of(w);
  const LayerShape shape = LayerShape::of(graph, node);
  const std::size_t depth = static_cast<std::size_t>(w.shape.back()), per_group = shape.channels / shape.groups;
  std::vector<double> reach(channels, 0);
  for (std::size_t n = 0; n < shape.channels; ++n) {
    for (std::size_t k = 0; k < shape.row; ++k) {
      double& most = reach[n / per_group * depth + k % depth];
      most = std::max(most, std::abs(static_cast<double>(values[n * shape.row + k])));
    }
  }
  return reach;
}

// y = factors * y for the upstream operator, x = x / factors for the downstream one.
void apply(const std::vector<double>& factors, const Pair& pair, Graph& graph) {
  const Node &up = graph.nodes[pair.up], &down = graph.nodes[pair.down];
  Tensor& w = graph.tensors[static_cast<std::size_t>(up.inputs[1])];
  std::vector<float> values = floats_of(w);
  const std::size_t row = values.size() / factors.size();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<double>(values[i]) * factors[i / row]);
  store_floats(w, values);
  if (up.inputs.size() > 2 && up.inputs[2] >= 0) {
    Tensor& bias = graph.tensors[static_cast<std::size_t>(up.inputs[2])];
    std::vector<float> numbers = floats_of(bias);
    for (std::size_t n = 0; n < numbers.size(); ++n) numbers[n] = static_cast<float>(static_cast<double>(numbers[n]) * factors[n]);
    store_floats(bias, numbers);
  }
  Tensor& behind = graph.tensors[static_cast<std::size_t>(down.inputs[1])];
  values = floats_of(behind);
  const LayerShape shape = LayerShape::of(graph, down);
  const std::size_t depth = static_cast<std::size_t>(behind.shape.back()), per_group = shape.channels / shape.groups;
  for (std::size_t n = 0; n < shape.channels; ++n) {
    for (std::size_t k = 0; k < shape.row; ++k) {
      float& value = values[n * shape.row + k];
      value = static_cast<float>(static_cast<double>(value) / factors[n / per_group * depth + k % depth]);
    }
  }
  store_floats(behind, values);
}

}  // namespace

Status equalize(const Clips& clips, std::span<const std::size_t> which, const Options& options, Graph& graph) {
  const std::vector<Pair> pairs = pairs_of(graph);
  if (pairs.empty()) return {};
  std::vector<TensorId> ids;
  for (const Pair& pair : pairs) ids.push_back(pair.between);
  const Graph form = traced(graph, ids);
  const Graph* const forms[] = {&form};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, options.threads));
  // Largest magnitude of every channel, per slice.
  std::array<std::vector<std::vector<double>>, ClipRunner::kSlices> seen;
  for (auto& slice : seen) {
    for (const TensorId id : ids) slice.emplace_back(static_cast<std::size_t>(graph.tensors[static_cast<std::size_t>(id)].shape.back()), 0.0);
  }
  RUNNEL_TRY(runner.run(clips, which, [&](std::size_t, std::size_t slice, const ClipRunner::Outputs& outputs) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::vector<double>& most = seen[slice][i];
      for (std::size_t k = 0; k < outputs[0][i].size(); ++k) most[k % most.size()] = std::max(most[k % most.size()], std::abs(static_cast<double>(outputs[0][i][k])));
    }
  }));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::vector<double> values = seen[0][i];
    for (const auto& slice : seen) {
      for (std::size_t c = 0; c < values.size(); ++c) values[c] = std::max(values[c], slice[i][c]);
    }
    const std::vector<double> reach = reach_of(graph, graph.nodes[pairs[i].down], values.size());
    const double most = *std::max_element(values.begin(), values.end());
    std::vector<double> factors(values.size(), 1);
    double largest = 0;
    for (std::size_t c = 0; c < values.size(); ++c) {
      if (values[c] > 0 && reach[c] > 0) factors[c] = std::sqrt(reach[c] / values[c]);
      largest = std::max(largest, factors[c] * values[c]);
    }
    // The range of the tensor stays what it was.
    for (double& factor : factors) factor = std::clamp(factor * most / std::max(largest, 1e-30), 1 / kMostFactor, kMostFactor);
    apply(factors, pairs[i], graph);
  }
  return {};
}

}  // namespace runnel::compiler::quantizer
