#include "compiler/passes/powers_of_two.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/passes/non_negative.h"
#include "compiler/passes/recurrent_powers.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler {
namespace {

using kernels::Rounding;

bool has_scale(const Tensor& tensor) {
  return (tensor.dtype == DType::int8 || tensor.dtype == DType::int16) && !tensor.scales.empty();
}

double real(const Tensor& tensor, std::int64_t value, std::size_t entry = 0) {
  const std::int32_t zero =
      tensor.zero_points.empty() ? 0 : tensor.zero_points[tensor.zero_points.size() == 1 ? 0 : entry];
  return static_cast<double>(value - zero) *
         static_cast<double>(tensor.scales[tensor.scales.size() == 1 ? 0 : entry]);
}

std::int64_t to_integer(double value, int exponent, DType type) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::nearbyint(std::ldexp(value, -exponent))),
                                  kernels::lowest(type), kernels::highest(type));
}

class Folding {
 public:
  explicit Folding(Graph& graph) : graph_(graph), old_(graph.tensors) {}

  Status run() {
    if (std::none_of(old_.begin(), old_.end(), [](const Tensor& tensor) { return has_scale(tensor); }))
      return {};
    std::vector<Node> nodes;
    for (Node& node : graph_.nodes) {
      made_ = &nodes;
      RUNNEL_TRY(fold(std::move(node)));
    }
    graph_.nodes = std::move(nodes);
    for (std::size_t i = 0; i < old_.size(); ++i) {
      if (has_scale(old_[i]) && graph_.tensors[i].exponents.empty()) fold_tensor(static_cast<TensorId>(i));
    }
    graph_.vectors.clear();
    mark_non_negative(graph_);
    return {};
  }

 private:
  Tensor& tensor(TensorId id) { return graph_.tensors[static_cast<std::size_t>(id)]; }
  const Tensor& before(TensorId id) const { return old_[static_cast<std::size_t>(id)]; }
  bool scaled(TensorId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < old_.size() && has_scale(before(id));
  }

  // A tensor of activations: all that its integers can mean.
  int exponent(TensorId id) const {
    const Tensor& from = before(id);
    const double low = std::abs(real(from, kernels::lowest(from.dtype))),
                 high = std::abs(real(from, kernels::highest(from.dtype)));
    // The lowest integer has no positive counterpart: its range is not required.
    const double step = static_cast<double>(from.scales[0]);
    return exponent_for(std::max(low - step, high), kernels::highest(from.dtype));
  }
  void fold_tensor(TensorId id) {
    Tensor& to = tensor(id);
    const Tensor& from = before(id);
    const int power = exponent(id);
    to.exponents = {static_cast<std::int8_t>(power)};
    to.scales.clear();
    to.zero_points.clear();
    to.channel_axis = -1;
    if (!from.data) return;
    const std::size_t count = from.data->size() / size_of(from.dtype);
    for (std::size_t i = 0; i < count; ++i)
      kernels::store(
          to.dtype, to.data->data(), i,
          to_integer(real(from, kernels::load(from.dtype, from.data->data(), i)), power, to.dtype));
  }

  Status fold(Node node) {
    const bool any =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) { return scaled(id); }) ||
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) { return scaled(id); });
    if (!any ||
        (node.arithmetic == Arithmetic::hybrid &&
         (node.code == OpCode::conv || node.code == OpCode::fully_connected))) {  // dynamic range: floats
      made_->push_back(std::move(node));
      return {};
    }
    node.rounding = Rounding::half_even;
    switch (node.code) {
      case OpCode::conv:
      case OpCode::fully_connected:
        return fold_layer(std::move(node));
      case OpCode::add:
      case OpCode::sub:
      case OpCode::mul:
        node.arithmetic = Arithmetic::exact;
        return limited(std::move(node));
      case OpCode::clip:
        return fold_clip(std::move(node));
      case OpCode::requantize:
        return fold_requantize(std::move(node));
      case OpCode::lut:
        return fold_table(std::move(node));
      case OpCode::softmax:
        if (std::holds_alternative<FunctionOptions>(node.options))
          return fail(node) << "softmax with a factor";
        break;
      case OpCode::pad: {
        auto& options = std::get<PadOptions>(node.options);
        options.value =
            static_cast<int>(to_integer(real(before(node.outputs[0]), options.value),
                                        exponent(node.outputs[0]), before(node.outputs[0]).dtype));
        break;
      }
      case OpCode::squared_difference:
        return fold_squared_difference(std::move(node));
      case OpCode::svdf:
      case OpCode::lstm:
        RUNNEL_TRY(fold_recurrent(
            graph_, node, [&](TensorId id) -> const Tensor& { return before(id); },
            [&](TensorId id) { return exponent(id); }));
        made_->push_back(std::move(node));
        return {};
      default:
        break;
    }
    if (node.arithmetic == Arithmetic::tflite) node.arithmetic = Arithmetic::espdl;
    return limited(std::move(node));
  }

  static Status fail(const Node& node) {
    return Status(Code::unsupported) << "node \"" << node.name << "\" has no form with power-of-two scales: ";
  }

  // [0, 6] and [-1, 1] become a clip after the operator.
  Status limited(Node node) {
    Activation* activation = nullptr;
    if (auto* conv = std::get_if<ConvOptions>(&node.options)) activation = &conv->activation;
    if (auto* dense = std::get_if<FullyConnectedOptions>(&node.options)) activation = &dense->activation;
    if (auto* pair = std::get_if<BinaryOptions>(&node.options)) activation = &pair->activation;
    if (activation == nullptr || *activation <= Activation::relu) {
      made_->push_back(std::move(node));
      return {};
    }
    const double low = *activation == Activation::relu6 ? 0 : -1,
                 high = *activation == Activation::relu6 ? 6 : 1;
    *activation = Activation::none;
    Node clip;
    clip.name = node.name;
    clip.code = OpCode::clip;
    clip.rounding = Rounding::half_even;
    const TensorId y = node.outputs[0];
    const auto between = static_cast<TensorId>(graph_.tensors.size());
    Tensor made = before(y);
    made.name += ".unlimited";
    made.exponents = {static_cast<std::int8_t>(exponent(y))};
    made.scales.clear();
    made.zero_points.clear();
    graph_.tensors.push_back(std::move(made));
    node.outputs[0] = between;
    clip.inputs = {between};
    clip.outputs = {y};
    clip.options = limits(y, low, high);
    made_->push_back(std::move(node));
    made_->push_back(std::move(clip));
    return {};
  }
  ClipOptions limits(TensorId y, double low, double high) const {
    ClipOptions options;
    options.low = static_cast<int>(to_integer(low, exponent(y), before(y).dtype));
    options.high = std::max(options.low, static_cast<int>(to_integer(high, exponent(y), before(y).dtype)));
    options.low_value = static_cast<float>(low);
    options.high_value = static_cast<float>(high);
    return options;
  }

  Status fold_clip(Node node) {
    const TensorId y = node.outputs[0];
    const auto& options = std::get<ClipOptions>(node.options);
    const auto value = [&](int integer) {
      return real(before(y), std::clamp(integer, static_cast<int>(kernels::lowest(before(y).dtype)),
                                        static_cast<int>(kernels::highest(before(y).dtype))));
    };
    node.options = limits(y, value(options.low), value(options.high));
    node.arithmetic = Arithmetic::espdl;
    made_->push_back(std::move(node));
    return {};
  }

  // Between an input or output of another integer type and the model: by way of float32, which is exact.
  Status fold_requantize(Node node) {
    const bool in = scaled(node.inputs[0]), out = scaled(node.outputs[0]);
    node.arithmetic = Arithmetic::espdl;
    if (in && out) {
      made_->push_back(std::move(node));
      return {};
    }
    const TensorId id = add_floats(node.inputs[0]);
    Node first = node, second = node;
    first.code = OpCode::dequantize;
    first.arithmetic = in ? Arithmetic::espdl : Arithmetic::tflite;
    first.outputs = {id};
    second.code = OpCode::quantize;
    second.arithmetic = out ? Arithmetic::espdl : Arithmetic::tflite;
    second.inputs = {id};
    made_->push_back(std::move(first));
    made_->push_back(std::move(second));
    return {};
  }

  // A float32 tensor of the shape of another one.
  TensorId add_floats(TensorId like) {
    Tensor floats;
    floats.name = tensor(like).name + ".floats";
    floats.dtype = DType::float32;
    floats.shape = tensor(like).shape;
    graph_.tensors.push_back(std::move(floats));
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }

  // In float32, rounded once.
  Status fold_squared_difference(const Node& node) {
    const auto push = [&](OpCode code, std::vector<TensorId> inputs, TensorId y) {
      Node made = node;
      made.code = code;
      made.arithmetic = Arithmetic::espdl;
      made.inputs = std::move(inputs);
      made.outputs = {y};
      if (code == OpCode::quantize || code == OpCode::dequantize) made.options = Options();
      made_->push_back(std::move(made));
    };
    const TensorId a = add_floats(node.inputs[0]), b = add_floats(node.inputs[1]),
                   difference = add_floats(node.outputs[0]), square = add_floats(node.outputs[0]);
    push(OpCode::dequantize, {node.inputs[0]}, a);
    push(OpCode::dequantize, {node.inputs[1]}, b);
    push(OpCode::sub, {a, b}, difference);
    push(OpCode::mul, {difference, difference}, square);
    push(OpCode::quantize, {square}, node.outputs[0]);
    return {};
  }

  // What each new integer means, looked up in the old table.
  Status fold_table(Node node) {
    const TensorId x = node.inputs[0], y = node.outputs[0];
    if (before(x).dtype != DType::int8 || before(y).dtype != DType::int8 || !scaled(x) || !scaled(y))
      return fail(node) << "a table that is not of int8 on both sides";
    const Tensor& table = before(node.inputs[1]);
    Tensor made = table;
    made.name += ".powers";
    for (int i = -128; i < 128; ++i) {
      const std::int64_t at =
          std::clamp<std::int64_t>(std::llround(std::ldexp(static_cast<double>(i), exponent(x)) /
                                                static_cast<double>(before(x).scales[0])) +
                                       before(x).zero_points[0],
                                   -128, 127);
      const double value =
          real(before(y), kernels::load(DType::int8, table.data->data(), static_cast<std::size_t>(at + 128)));
      kernels::store(DType::int8, made.data->data(), static_cast<std::size_t>(i + 128),
                     to_integer(value, exponent(y), DType::int8));
    }
    node.inputs[1] = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(made));
    made_->push_back(std::move(node));
    return {};
  }

  Status fold_layer(Node node) {
    const TensorId x = node.inputs[0], w = node.inputs[1];
    if (!scaled(x) || !scaled(w) || !scaled(node.outputs[0])) return fail(node) << "operands without scales";
    const Tensor& from = before(w);
    Tensor weights = from;
    const auto channels = static_cast<std::size_t>(from.shape[0]),
               count = from.data->size() / size_of(from.dtype), row = count / channels;
    weights.name += ".powers";
    weights.scales.clear();
    weights.zero_points.clear();
    weights.channel_axis = channels > 1 ? 0 : -1;
    const bool biased = node.inputs.size() > 2 && node.inputs[2] >= 0;
    Tensor bias = biased ? before(node.inputs[2]) : Tensor();
    for (std::size_t channel = 0; channel < channels; ++channel) {
      double largest = 0;
      const auto value = [&](std::size_t i) {
        return real(from, kernels::load(from.dtype, from.data->data(), i), channel);
      };
      for (std::size_t i = channel * row; i < (channel + 1) * row; ++i)
        largest = std::max(largest, std::abs(value(i)));
      int power = exponent_for(largest, kernels::highest(from.dtype));
      // Never so fine that a bias or a sum does not fit.
      const double unit = static_cast<double>(before(x).scales[0]) *
                          static_cast<double>(from.scales[from.scales.size() == 1 ? 0 : channel]);
      double added = 0;
      if (biased) {
        std::int64_t integer = 0;
        std::memcpy(&integer, bias.data->data() + channel * size_of(bias.dtype), size_of(bias.dtype));
        if (bias.dtype == DType::int32) integer = static_cast<std::int32_t>(integer);
        added = static_cast<double>(integer) * unit;
        const double room = bias.dtype == DType::int32 ? 1 << 30 : 1e15;
        while (std::abs(std::ldexp(added, -(power + exponent(x)))) > room) ++power;
        const auto whole =
            static_cast<std::int64_t>(std::nearbyint(std::ldexp(added, -(power + exponent(x)))));
        std::memcpy(bias.data->data() + channel * size_of(bias.dtype), &whole, size_of(bias.dtype));
      }
      weights.exponents.push_back(static_cast<std::int8_t>(power));
      for (std::size_t i = channel * row; i < (channel + 1) * row; ++i)
        kernels::store(from.dtype, weights.data->data(), i, to_integer(value(i), power, from.dtype));
    }
    node.arithmetic = Arithmetic::espdl;
    node.inputs[1] = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(weights));
    if (biased) {
      bias.name += ".powers";
      bias.exponents.clear();
      bias.scales.clear();
      node.inputs[2] = static_cast<TensorId>(graph_.tensors.size());
      graph_.tensors.push_back(std::move(bias));
    }
    return limited(std::move(node));
  }

  Graph& graph_;
  const std::vector<Tensor> old_;
  std::vector<Node>* made_ = nullptr;
};

}  // namespace

Status to_powers_of_two(Graph& graph) { return Folding(graph).run(); }

}  // namespace runnel::compiler
