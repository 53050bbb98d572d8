// All layers, one after the other, on inputs as the integer model gives them.
#include <algorithm>
#include <array>

#include "compiler/quantize/clip_runner.h"
#include "compiler/quantize/emit.h"
#include "compiler/quantize/round.h"
#include "compiler/quantize/trace.h"

namespace runnel::compiler::quantizer {
namespace {

// The sums of a layer with more weights per channel take too long and too much memory.
constexpr std::size_t kMostRow = 1536;
constexpr double kMostWork = 6e9;   // products of one layer's sums

void drop_activation(Node& node) {
  if (auto* conv = std::get_if<ConvOptions>(&node.options)) conv->activation = fb::Activation::none;
  if (auto* dense = std::get_if<FullyConnectedOptions>(&node.options)) dense->activation = fb::Activation::none;
}

Result<Gram> sums_of(const Graph& graph, int number, const Plan& plan, const Clips& clips, std::span<const std::size_t> which, const Options& options) {
  const Node& node = graph.nodes[static_cast<std::size_t>(number)];
  const DType type = plan.types[static_cast<std::size_t>(number)];
  Graph linear = graph;
  drop_activation(linear.nodes[static_cast<std::size_t>(number)]);
  const TensorId results[] = {node.outputs[0]}, inputs[] = {node.inputs[0]};
  const Graph real = traced(linear, results);
  RUNNEL_ASSIGN(const Graph whole, emit(graph, plan));
  const Graph integer = traced(whole, inputs);
  const Graph* const forms[] = {&real, &integer};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, options.threads));
  const LayerShape shape = LayerShape::of(graph, node);
  const double work = static_cast<double>(shape.groups * shape.row * shape.row) + static_cast<double>(shape.channels * shape.row);
  const double positions = std::max(4.0, kMostWork / work / static_cast<double>(which.size()));
  std::array<Gram, ClipRunner::kSlices> slices;
  slices.fill(Gram(shape));
  const DType has = tensor_types(graph, plan)[static_cast<std::size_t>(node.inputs[0])];
  const Grid grid = plan.grid(node.inputs[0], type);
  RUNNEL_TRY(runner.run(clips, which, [&](std::size_t, std::size_t slice, const ClipRunner::Outputs& outputs) {
    std::vector<float> changed;
    std::span<const float> x = outputs[1][0];
    if (has != type) {
      for (const float value : x) changed.push_back(static_cast<float>(rounded(grid, plan.target.rounding, static_cast<double>(value))));
      x = changed;
    }
    slices[slice].add(graph, node, x, outputs[0][0], static_cast<std::size_t>(positions));
  }));
  for (std::size_t s = 1; s < slices.size(); ++s) slices[0].add(slices[s]);
  return std::move(slices[0]);
}

}  // namespace

Status fit_layers(const Graph& graph, const Clips& clips, std::span<const std::size_t> which, const Methods& methods, const Options& options, Plan& plan) {
  if (!methods.round && !methods.correct_bias) return {};
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (options.progress) options.progress("rounding", static_cast<double>(n) / static_cast<double>(graph.nodes.size()));
    const bool fits = plan.roles[n] == Role::weighted && plan.types[n] != DType::float32 && node.code != fb::OpCode::transposed_conv;
    if (!fits || LayerShape::of(graph, node).row > kMostRow) continue;
    plan.layers.erase(static_cast<int>(n));
    RUNNEL_ASSIGN(const Gram gram, sums_of(graph, static_cast<int>(n), plan, clips, which, options));
    plan.layers[static_cast<int>(n)] = fit_layer(graph, node, plan, gram, methods);
  }
  return {};
}

}  // namespace runnel::compiler::quantizer
