#include "bench/networks.h"

#include <cstddef>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "compiler/passes/non_negative.h"

namespace runnel::bench {
namespace {

using compiler::Graph;
using compiler::TensorId;

void fill(ConvLayer& layer, std::mt19937& random) {
  const auto count = static_cast<std::size_t>(layer.macs());
  layer.weights.resize(count);
  layer.bias.resize(static_cast<std::size_t>(layer.out));
  for (auto& w : layer.weights) w = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  for (auto& b : layer.bias) b = static_cast<std::int32_t>(random() % 4000) - 2000;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Appends tensors and nodes.
class Builder {
 public:
  explicit Builder(std::string name) { graph_.name = std::move(name); }

  TensorId activation(std::string name, std::vector<std::int32_t> shape) {
    compiler::Tensor tensor;
    tensor.name = std::move(name);
    tensor.shape = std::move(shape);
    tensor.dtype = DType::int8;
    tensor.exponents = {kExponent};
    return add(std::move(tensor));
  }
  TensorId input(std::vector<std::int32_t> shape) {
    graph_.inputs = {activation("x", std::move(shape))};
    return graph_.inputs[0];
  }
  // `dense`: as a fully connected layer.
  TensorId conv(const std::string& name, const ConvLayer& layer, TensorId x, std::vector<std::int32_t> shape,
                bool dense = false) {
    const auto weight_exponent = static_cast<std::int8_t>(-layer.shift);
    compiler::Tensor weights, bias;
    weights.name = name + ".weights";
    weights.shape = dense ? std::vector<std::int32_t>{layer.out, layer.in}
                          : std::vector<std::int32_t>{layer.out, layer.kernel_height, layer.kernel_width,
                                                      layer.in / layer.groups};
    weights.dtype = DType::int8;
    weights.exponents = {weight_exponent};
    weights.data = bytes_of(layer.weights);
    bias.name = name + ".bias";
    bias.shape = {layer.out};
    bias.dtype = DType::int32;
    bias.exponents = {static_cast<std::int8_t>(weight_exponent + kExponent)};
    bias.data = bytes_of(layer.bias);
    compiler::Node node;
    node.name = name;
    node.inputs = {x, add(std::move(weights)), add(std::move(bias))};
    const Activation activation_of = layer.relu ? Activation::relu : Activation::none;
    if (dense) {
      node.code = OpCode::fully_connected;
      node.options = compiler::FullyConnectedOptions{activation_of};
    } else {
      node.code = OpCode::conv;
      compiler::ConvOptions options;
      options.stride_height = options.stride_width = layer.stride;
      options.dilation_width = layer.dilation;
      options.pad_top = layer.pad_top;
      options.pad_bottom = layer.pad_bottom;
      options.pad_left = layer.pad_left;
      options.pad_right = layer.pad_right;
      options.groups = layer.groups;
      options.activation = activation_of;
      node.options = options;
    }
    return output(std::move(node), std::move(shape));
  }
  TensorId add_relu(const std::string& name, TensorId a, TensorId b, std::vector<std::int32_t> shape) {
    return output({name,
                   OpCode::add,
                   Arithmetic::espdl,
                   {a, b},
                   {},
                   compiler::BinaryOptions{Activation::relu},
                   kernels::Rounding::half_up},
                  std::move(shape));
  }
  TensorId mean(const std::string& name, TensorId x, std::vector<std::int32_t> shape) {
    compiler::PoolOptions options;
    options.global = true;
    return output(
        {name, OpCode::average_pool, Arithmetic::espdl, {x}, {}, options, kernels::Rounding::half_up},
        std::move(shape));
  }
  Graph finish(TensorId y) {
    graph_.outputs = {y};
    compiler::mark_non_negative(graph_);
    return std::move(graph_);
  }

 private:
  TensorId add(compiler::Tensor tensor) {
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }
  TensorId output(compiler::Node node, std::vector<std::int32_t> shape) {
    const TensorId y = activation(node.name + ".y", std::move(shape));
    node.outputs = {y};
    graph_.nodes.push_back(std::move(node));
    return y;
  }
  Graph graph_;
};

}  // namespace

M1::M1() {
  std::mt19937 random(1);
  stem = {.in = kFeatures,
          .out = kChannels,
          .kernel_width = 5,
          .pad_left = 4,
          .shift = 10,
          .weights = {},
          .bias = {}};
  fill(stem, random);
  for (const int dilation : {1, 1, 2, 2, 4, 4}) {
    Block block;
    block.depthwise = {.groups = kChannels,
                       .kernel_width = 9,
                       .dilation = dilation,
                       .pad_left = 8 * dilation,
                       .shift = 9,
                       .weights = {},
                       .bias = {}};
    block.pointwise = {.relu = false, .shift = 10, .weights = {}, .bias = {}};
    fill(block.depthwise, random);
    fill(block.pointwise, random);
    blocks.push_back(std::move(block));
  }
  head = {.shift = 9, .weights = {}, .bias = {}};
  fill(head, random);
}

std::int64_t M1::macs_per_frame() const {
  std::int64_t macs = stem.macs() + head.macs();
  for (const Block& block : blocks) macs += block.depthwise.macs() + block.pointwise.macs();
  return macs;
}

Graph M1::graph(int frames) const {
  Builder builder("M1");
  const std::vector<std::int32_t> shape{1, frames, kChannels};
  TensorId x = builder.conv("stem", stem, builder.input({1, frames, kFeatures}), shape);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string name = "block" + std::to_string(i);
    const TensorId taps = builder.conv(name + ".depthwise", blocks[i].depthwise, x, shape);
    const TensorId mixed = builder.conv(name + ".pointwise", blocks[i].pointwise, taps, shape);
    x = builder.add_relu(name + ".sum", mixed, x, shape);
  }
  return builder.finish(builder.conv("head", head, x, shape));
}

M2::M2() {
  std::mt19937 random(2);
  stem = {.in = 1,
          .out = kChannels,
          .kernel_height = 10,
          .kernel_width = 4,
          .stride = 2,
          .pad_top = 4,
          .pad_bottom = 5,
          .pad_left = 1,
          .pad_right = 1,
          .shift = 9,
          .weights = {},
          .bias = {}};
  fill(stem, random);
  for (int i = 0; i < 4; ++i) {
    Block block;
    block.depthwise = {.groups = kChannels,
                       .kernel_height = 3,
                       .kernel_width = 3,
                       .pad_top = 1,
                       .pad_bottom = 1,
                       .pad_left = 1,
                       .pad_right = 1,
                       .shift = 8,
                       .weights = {},
                       .bias = {}};
    block.pointwise = {.shift = 9, .weights = {}, .bias = {}};
    fill(block.depthwise, random);
    fill(block.pointwise, random);
    blocks.push_back(std::move(block));
  }
  dense = {.out = kClasses, .relu = false, .shift = 9, .weights = {}, .bias = {}};
  fill(dense, random);
}

std::int64_t M2::macs() const {
  std::int64_t macs = stem.macs();
  for (const Block& block : blocks) macs += block.depthwise.macs() + block.pointwise.macs();
  return macs * kOutHeight * kOutWidth + dense.macs();
}

Graph M2::graph() const {
  Builder builder("M2");
  const std::vector<std::int32_t> shape{1, kOutHeight, kOutWidth, kChannels};
  TensorId x = builder.conv("stem", stem, builder.input({1, kHeight, kWidth, 1}), shape);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string name = "block" + std::to_string(i);
    x = builder.conv(name + ".depthwise", blocks[i].depthwise, x, shape);
    x = builder.conv(name + ".pointwise", blocks[i].pointwise, x, shape);
  }
  x = builder.mean("mean", x, {1, 1, 1, kChannels});
  return builder.finish(builder.conv("dense", dense, x, {1, 1, 1, kClasses}, true));
}

Graph one_layer(const ConvLayer& layer, int frames) {
  Builder builder("one layer");
  const TensorId x = builder.input({1, frames, layer.in});
  return builder.finish(builder.conv("layer", layer, x, {1, frames, layer.out}));
}

std::vector<std::int8_t> features(std::size_t count) {
  std::mt19937 random(3);
  std::vector<std::int8_t> values(count);
  for (auto& value : values) value = static_cast<std::int8_t>(static_cast<int>(random() % 128) - 64);
  return values;
}

}  // namespace runnel::bench
