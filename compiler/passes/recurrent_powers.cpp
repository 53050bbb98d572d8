#include "compiler/passes/recurrent_powers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/elementwise/affine.h"

namespace runnel::compiler {
namespace {

constexpr double kMaxBias = 1 << 30;  // leaves room for the products

double bias_value(const Tensor& bias, std::size_t i) {
  std::int32_t integer = 0;
  std::memcpy(&integer, bias.data->data() + i * sizeof integer, sizeof integer);
  return static_cast<double>(integer);
}
std::size_t count_of(const Tensor& tensor) { return tensor.data->size() / size_of(tensor.dtype); }

double largest_of(const Tensor& weights) {
  double largest = 0;
  for (std::size_t i = 0; i < count_of(weights); ++i) {
    largest = std::max(largest,
                       std::abs(static_cast<double>(kernels::load(weights.dtype, weights.data->data(), i))) *
                           static_cast<double>(weights.scales[0]));
  }
  return largest;
}

class Layer {
 public:
  Layer(Graph& graph, Node& node, const std::function<const Tensor&(TensorId)>& before)
      : graph_(graph), node_(node), before_(before) {}

  // Weights at `position` and, unless -1, the bias at `bias` in units of their scale and of `input`, whose
  // new unit is 2^exponent.
  int fold(std::size_t position, int bias = -1, double input = 1, int exponent = 0) {
    const Tensor& from = before_(node_.inputs[position]);
    int power = exponent_for(largest_of(from), kernels::highest(from.dtype));
    const double unit = static_cast<double>(from.scales[0]) * input;
    const bool biased = bias >= 0 && static_cast<std::size_t>(bias) < node_.inputs.size() &&
                        node_.inputs[static_cast<std::size_t>(bias)] >= 0;
    if (biased) {
      Tensor made = before_(node_.inputs[static_cast<std::size_t>(bias)]);
      made.name += ".powers";
      for (std::size_t i = 0; i < count_of(made); ++i) {
        while (std::abs(std::ldexp(bias_value(made, i) * unit, -(power + exponent))) > kMaxBias) ++power;
      }
      for (std::size_t i = 0; i < count_of(made); ++i) {
        const auto whole = static_cast<std::int32_t>(
            std::nearbyint(std::ldexp(bias_value(made, i) * unit, -(power + exponent))));
        std::memcpy(made.data->data() + i * sizeof whole, &whole, sizeof whole);
      }
      node_.inputs[static_cast<std::size_t>(bias)] = add(std::move(made));
    }
    Tensor made = from;
    made.name += ".powers";
    made.exponents = {static_cast<std::int8_t>(power)};
    made.scales.clear();
    made.zero_points.clear();
    for (std::size_t i = 0; i < count_of(made); ++i) {
      const double value = static_cast<double>(kernels::load(made.dtype, from.data->data(), i)) *
                           static_cast<double>(from.scales[0]);
      kernels::store(made.dtype, made.data->data(), i,
                     static_cast<std::int64_t>(std::nearbyint(std::ldexp(value, -power))));
    }
    node_.inputs[position] = add(std::move(made));
    return power;
  }

 private:
  TensorId add(Tensor tensor) {
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }

  Graph& graph_;
  Node& node_;
  const std::function<const Tensor&(TensorId)>& before_;
};

}  // namespace

int exponent_for(double size, std::int32_t most) {
  if (!(size > 0)) return -7;  // nothing but zeros
  int exponent = 0;
  std::frexp(size / most, &exponent);
  while (std::ldexp(static_cast<double>(most), exponent - 1) >= size) --exponent;
  return std::clamp(exponent, -100, 100);
}

Status fold_recurrent(Graph& graph, Node& node, const std::function<const Tensor&(TensorId)>& before,
                      const std::function<int(TensorId)>& exponent) {
  Layer layer(graph, node, before);
  if (node.code == OpCode::svdf) {
    auto& options = std::get<SvdfOptions>(node.options);
    if (options.activation > Activation::relu) {
      return Status(Code::unsupported)
             << "node \"" << node.name
             << "\" has no form with power-of-two scales: an SVDF with an activation other than ReLU";
    }
    const double scale = static_cast<double>(options.state_scale);
    const std::int32_t most = kernels::highest(options.state_dtype);
    const int state = exponent_for(scale * (most + std::abs(options.state_zero_point)), most);
    layer.fold(1);
    layer.fold(2, 3, scale, state);
    options.state_scale = std::ldexp(1.0f, state);
    options.state_zero_point = 0;
    node.arithmetic = Arithmetic::shifts;
    return {};
  }
  const TensorId x = node.inputs[0];
  for (std::size_t g = 0; g < 4; ++g) {
    layer.fold(1 + g, static_cast<int>(9 + g), static_cast<double>(before(x).scales[0]), exponent(x));
    layer.fold(5 + g);
  }
  node.arithmetic = Arithmetic::stateful_shifts;
  return {};
}

}  // namespace runnel::compiler
