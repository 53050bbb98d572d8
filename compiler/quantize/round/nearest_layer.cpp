// Weights as integers.
#include <algorithm>
#include <cmath>

#include "compiler/quantize/plan.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::quantizer {

Layer nearest_layer(const Graph& graph, const Node& node, const Plan& plan, const Grid& x) {
  const Tensor& from = graph.tensors[static_cast<std::size_t>(node.inputs[1])];
  const std::vector<float> weights = floats_of(from);
  const auto channels = static_cast<std::size_t>(from.shape[0]);
  const std::size_t row = weights.size() / channels;
  const DType type = plan.target.weight_type(x.dtype);
  const std::int32_t most = kernels::highest(type);
  Layer layer;
  if (node.inputs.size() > 2 && node.inputs[2] >= 0) {
    for (const float value : floats_of(graph.tensors[static_cast<std::size_t>(node.inputs[2])]))
      layer.bias.push_back(static_cast<double>(value));
  }
  const bool per_channel = plan.target.per_channel && channels > 1;
  const int bits = x.dtype == DType::int8 ? plan.target.bias_bits_int8 : plan.target.bias_bits_int16;
  const double most_bias = std::ldexp(1.0, std::min(bits, 62) - 1) - 1;
  const std::size_t entries = per_channel ? channels : 1, share = channels / entries;
  for (std::size_t e = 0; e < entries; ++e) {
    double largest = 0, bias = 0;
    for (std::size_t i = e * share * row; i < (e + 1) * share * row; ++i)
      largest = std::max(largest, std::abs(static_cast<double>(weights[i])));
    for (std::size_t c = e * share; c < (e + 1) * share && !layer.bias.empty(); ++c)
      bias = std::max(bias, std::abs(layer.bias[c]));
    if (plan.scheme == Scheme::affine) {
      double step =
          static_cast<double>(static_cast<float>(largest > 0 ? largest / most : std::ldexp(1.0, -7)));
      if (bias > most_bias * step * x.step)
        step = static_cast<double>(static_cast<float>(bias / most_bias / x.step * 1.01));
      layer.steps.push_back(step);
      continue;
    }
    int exponent = largest > 0 ? exponent_for(largest, most) : type == DType::int8 ? -7 : -15;
    // Never so fine that a bias does not fit.
    while (bias > std::ldexp(most_bias, exponent + x.exponent)) ++exponent;
    layer.exponents.push_back(exponent);
    layer.steps.push_back(std::ldexp(1.0, exponent));
  }
  layer.integers.resize(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double step = layer.steps[entries == 1 ? 0 : i / row];
    layer.integers[i] = static_cast<std::int32_t>(std::clamp<double>(
        std::nearbyint(static_cast<double>(weights[i]) / step), kernels::lowest(type), most));
  }
  return layer;
}

}  // namespace runnel::compiler::quantizer
